/* The CSV of lab.js (lab.js 2018.1.1) of a naming task, as its data store exports it without a browser.

    npm install lab.js@2018.1.1 jsdom
    node benchmarks/exports/labjs.js tests/formats/exports

writes `labjs.csv`. A cross is shown, then an object, which is named with a word an attribute. */

const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");
const installed = createRequire(path.join(process.cwd(), "package.json"));
const { JSDOM } = installed("jsdom");

const COLORS = { red: "ne", blue: "wa" };
const SHAPES = { star: "po", box: "ki" };
const { window } = new JSDOM('<div class="container" data-labjs-section="main"><main></main></div>', {
  runScripts: "outside-only",
  pretendToBeVisual: true,
  url: "http://localhost/",
});
window.eval(fs.readFileSync(installed.resolve("lab.js/dist/lab.js"), "utf-8"));
const lab = window.lab;
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function run() {
  const datastore = new lab.data.Store();
  datastore.set({ participant: "p1" });
  const content = '<form><input name="signal"><button type="submit">next</button></form>';
  const trials = [];
  for (const color of Object.keys(COLORS)) {
    for (const shape of Object.keys(SHAPES)) {
      trials.push(new lab.html.Screen({ title: "fixation", content: "+", timeout: 20, datastore }));
      trials.push(new lab.html.Form({ title: "name", data: { color, shape }, content, datastore }));
    }
  }
  const el = window.document.querySelector("main");
  await new lab.flow.Sequence({ title: "study", content: trials, datastore, el }).run();
  for (const trial of trials) {
    if (trial instanceof lab.html.Form) {
      const said = `${COLORS[trial.data.color]} ${SHAPES[trial.data.shape]}`;
      window.document.querySelector("input[name=signal]").value = said;
      trial.submit();
    }
    await pause(60);
  }
  fs.writeFileSync(path.join(process.argv[2], "labjs.csv"), `${datastore.exportCsv()}\n`);
  process.exit(0);
}

run();
