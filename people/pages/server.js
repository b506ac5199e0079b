"use strict";
// Talks to the server. What was not stored is sent again until it is; the server counts an action once.

const Server = {
  csrf: "",
  sent: 0,  // actions that were begun, but for signs that somebody is still there
  WAITS: [500, 1000, 2000, 4000],

  say(text) { document.getElementById("said").textContent = text; },
  tell(text) { document.getElementById("connection").textContent = text; },

  async request(path, options) {
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
        const found = await response.json();
        if (response.ok) {
          this.tell("");
          return found;
        }
        if (response.status < 500 && response.status !== 429) {
          this.tell("");
          return { error: found.error || "This did not work.", status: response.status };
        }
        this.tell(`${found.error || ""} Nothing is lost: trying again.`);
      } catch {
        this.tell("No connection to the server. Nothing is lost: trying again.");
      }
      await new Promise((done) => setTimeout(done, this.WAITS[Math.min(attempt, this.WAITS.length - 1)]));
    }
  },

  async state() {
    const found = await this.request("api/state");
    if (found.csrf) this.csrf = found.csrf;
    return found;
  },

  async act(action, sent) {
    if (action !== "wait") this.sent += 1;
    const found = await this.request(`api/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": this.csrf },
      body: JSON.stringify(sent),
    });
    if (found.error && action !== "begin") {  // elsewhere the page went on: show where
      this.tell(found.status === 409 ? "" : found.error);
      return { ...found, state: await this.state() };
    }
    return found;
  },
};
