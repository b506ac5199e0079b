"use strict";
// The study as a jsPsych experiment: one trial is one screen of what the server says comes next.

const PICTURES_WAIT = 1500;  // milliseconds that a screen waits for its pictures at most
let jsPsych = null;
let ready = null;  // the next screen

/** The screen of a state, once its pictures are there; until then the screen before stays in view and does nothing. */
async function prepared(state) {
  const screen = document.createElement("div");
  const display = document.getElementById("screen");
  let isOver = false;
  SCREENS[state.error ? "error" : state.stage](screen, state, async (next) => {
    if (isOver) return;
    isOver = true;
    display.inert = true;
    ready = await prepared(next);
    display.inert = false;
    jsPsych.finishTrial({ stage: state.stage });
  });
  const pictures = [...screen.querySelectorAll("img")].map((image) => image.decode().catch(() => {}));
  await Promise.race([Promise.all(pictures), new Promise((done) => setTimeout(done, PICTURES_WAIT))]);
  return screen;
}

class ServerScreen {
  trial(display) {
    display.replaceChildren(ready);
    ready.dispatchEvent(new Event("shown"));
    const first = ready.querySelector("[data-focus]") || ready.querySelector("h1");
    if (first) first.focus();
    window.scrollTo(0, 0);
  }
}
ServerScreen.info = { name: "server-screen", version: "1", parameters: {}, data: { stage: { type: "STRING" } } };

async function main() {
  ready = await prepared(await Server.state());
  jsPsych = initJsPsych({ display_element: "screen" });
  await jsPsych.run([{ timeline: [{ type: ServerScreen }], loop_function: () => true }]);
}

// A page that the back button brings back from memory is out of date.
window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });
main();
