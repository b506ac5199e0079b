"use strict";
// The screens by stage. Each draws itself and calls `next` with the new state once the server has stored something.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function button(label, action, attributes = {}) {
  return element("button", { type: "button", onclick: action, ...attributes }, label);
}

function markdown(html) {  // made by the server of the study's own texts, without foreign HTML
  const text = element("div", { class: "text" });
  text.innerHTML = html;
  const heading = text.querySelector("h1");
  if (heading) heading.tabIndex = -1;
  return text;
}

function heading(text) { return element("h1", { tabindex: -1 }, text); }

let audio = null;
function sound(isRight) {
  if (!window.AudioContext) return;
  audio = audio || new AudioContext();
  const start = audio.currentTime;
  (isRight ? [660, 880] : [200, 150]).forEach((frequency, place) => {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.12, start + place * 0.12);
    volume.gain.exponentialRampToValueAtTime(0.001, start + place * 0.12 + 0.12);
    tone.connect(volume).connect(audio.destination);
    tone.start(start + place * 0.12);
    tone.stop(start + place * 0.12 + 0.13);
  });
}

function settingsBox(settings, changed) {
  const box = element("fieldset", { class: "settings" }, element("legend", {}, "Settings"));
  const labels = { has_sound: "Sounds", names_objects: "Name colours and shapes in words" };
  for (const [name, label] of Object.entries(labels)) {
    const input = element("input", { type: "checkbox", id: name, checked: settings[name] });
    input.addEventListener("change", () => changed({ ...settings, ...Object.fromEntries([[name, input.checked]]) }));
    box.append(element("label", { for: name }, input, ` ${label}`));
  }
  return box;
}

function withdrawButton(next) {
  return button("Withdraw", async () => {
    if (!window.confirm("Delete everything that you gave, and end? This can't be undone.")) return;
    const found = await Server.act("withdraw", {});
    next({ ...found.state, stage: "withdrawn" });
  }, { class: "quiet" });
}

function questionFields(questions) {
  return questions.map(({ name, text, choices }) => {
    if (!choices.length) {
      return element("p", {}, element("label", { for: name }, text),
        element("textarea", { id: name, name, rows: 3, maxlength: 2000 }));
    }
    const options = choices.map((choice, place) => element("label", { for: `${name}${place}` },
      element("input", { type: "radio", id: `${name}${place}`, name, value: choice, required: true }), ` ${choice}`));
    return element("fieldset", {}, element("legend", {}, text), ...options);
  });
}

function form(fields, label, submit) {
  const send = element("button", { type: "submit" }, label);
  const made = element("form", {}, ...fields, element("p", {}, send));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    await submit(Object.fromEntries(new FormData(made)));
    send.disabled = false;
  });
  return made;
}

function worker(platform) {  // the ID in the link of the platform
  const query = new URLSearchParams(window.location.search);
  const names = { prolific: "PROLIFIC_PID", mturk: "workerId" };
  const isPreview = query.get("assignmentId") === "ASSIGNMENT_ID_NOT_AVAILABLE";
  return (isPreview ? "ASSIGNMENT_ID_NOT_AVAILABLE" : query.get(names[platform] || "") || "").slice(0, 200);
}

function beginButton(label, state, next) {
  const begin = button(label, async () => {
    begin.disabled = true;
    const found = await Server.act("begin", { worker: worker(state.platform) });
    next(found.error ? found : found.state);
  });
  return begin;
}

/** Ask every so many milliseconds how things stand, as long as the screen is shown; go on once `isSame` says so. */
function poll(display, wait, state, next, isSame) {
  const ask = async () => {
    if (!display.isConnected) return;
    const before = Server.sent;
    const found = await Server.act("wait", { worker: worker(state.platform) });
    if (!display.isConnected) return;
    if (Server.sent !== before) setTimeout(ask, wait);  // what was asked may be out of date
    else if (found.error) next(found.status === 409 ? { error: found.error } : found.state);
    else if (isSame(found.state)) setTimeout(ask, wait);
    else next(found.state);
  };
  display.addEventListener("shown", () => setTimeout(ask, wait));
}

function wayBack(state) {
  const code = element("p", {}, "Your completion code: ", element("strong", { id: "completion" }, state.completion_code));
  const link = element("p", {}, element("a", { href: state.return_url, rel: "noreferrer" }, "Return to the platform"));
  return element("div", {}, state.completion_code ? code : null, state.return_url ? link : null);
}

function tokenLine(state) {
  return element("p", {}, "Keep this token if you may want your data deleted later: ",
    element("code", { id: "token" }, state.token));
}

const SCREENS = {
  error(display, state) {
    display.append(heading("This page can't go on"), element("p", {}, state.error),
      button("Load it again", () => window.location.reload()));
  },

  consent(display, state, next) {
    const agree = beginButton("I agree: begin", state, next);
    const skip = state.is_trial
      ? button("Straight to the first picture", async () => next((await Server.act("skip", {})).state)) : null;
    const decline = button("I do not agree", () => next({ ...state, stage: "declined" }), { class: "quiet" });
    display.append(markdown(state.html), element("p", { class: "buttons" }, skip, agree, decline));
  },

  declined(display) {
    display.append(heading("You did not agree"), element("p", {}, "Nothing was stored. You can close this page."));
  },

  withdrawn(display) {
    display.append(heading("You have withdrawn"), element("p", {}, "Everything that you gave is deleted. You can close this page."));
  },

  waiting(display, state, next) {
    const told = element("p", { id: "waited" });
    const tell = ({ seconds, minutes }) => {
      told.textContent = `You have waited ${Math.floor(seconds / 60)} of at most ${minutes} minutes.`;
    };
    tell(state);
    display.append(heading("Please wait"), element("p", {}, state.reason), told,
      element("p", {}, "This page goes on by itself. Keep it open."));
    poll(display, 2000, state, next, (found) => found.stage === state.stage && (tell(found) || true));
  },

  waited(display, state, next) {
    display.append(markdown(state.html), wayBack(state), element("p", { class: "buttons" }, beginButton("Wait again", state, next)));
  },

  left(display, state, next) {
    display.append(markdown(state.html), wayBack(state), tokenLine(state), element("p", { class: "buttons" }, withdrawButton(next)));
  },

  away(display, state, next) { SCREENS.left(display, state, next); },

  instructions(display, state, next) {
    let settings = state.settings;
    display.append(markdown(state.html), settingsBox(settings, (changed) => { settings = changed; }),
      element("p", { class: "buttons" }, button("Go on", async () => {
        next((await Server.act("go_on", { stage: "instructions", ...settings })).state);
      })));
  },

  quiz(display, state, next) {
    const wrong = state.attempt > 0
      ? element("p", { class: "wrong" }, "Not everything was right. Read the questions once more.") : null;
    const fields = questionFields(state.questions);
    display.append(heading("Three questions first"), ...(wrong ? [wrong] : []), form(fields, "Check", async (replies) => {
      next((await Server.act("quiz", { attempt: state.attempt, replies })).state);
    }));
  },

  game(display, state, next) { drawGame(display, state, next); },

  questions(display, state, next) {
    display.append(heading("Three last questions"), form(questionFields(state.questions), "Finish", async (replies) => {
      next((await Server.act("reply", { replies })).state);
    }));
  },

  finished(display, state, next) {
    display.append(markdown(state.html), element("p", { class: "big" }, `Your score: ${state.score} points`), resultTable(state.table));
    display.append(wayBack(state), tokenLine(state));
    const again = state.is_trial ? button("Play again", () => { window.location.assign("?again"); }) : null;
    display.append(element("p", { class: "buttons" }, again, withdrawButton(next)));
  },
};
