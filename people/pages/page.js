"use strict";
// The study as a jsPsych experiment: one trial is one screen of what the server says comes next.

class ServerScreen {
  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display) {
    const state = ServerScreen.state;
    display.replaceChildren();
    const draw = SCREENS[state.error ? "error" : state.stage];
    draw(display, state, (next) => {
      ServerScreen.state = next;
      this.jsPsych.finishTrial({ stage: state.stage });
    });
    const first = display.querySelector("[data-focus]") || display.querySelector("h1");
    if (first) first.focus();
    window.scrollTo(0, 0);
  }
}
ServerScreen.info = { name: "server-screen", version: "1", parameters: {}, data: { stage: { type: "STRING" } } };

async function main() {
  ServerScreen.state = await Server.state();
  const jsPsych = initJsPsych({ display_element: "screen" });
  await jsPsych.run([{ timeline: [{ type: ServerScreen }], loop_function: () => true }]);
}

// A page that the back button brings back from memory is out of date.
window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });
main();
