#!/usr/bin/env bash
# lab.js 2018.1.1 (npm): what is set in the data store for a participant stands in one row of the CSV, not in all.
#
# Guess, written before it was run: `datastore.set({participant: "p1"})` before a study gives each row of `exportCsv()`
# the participant, as other experiment builders do, so that files of several people can be stacked and grouped.
#
# Seen: the store keeps `participant` in its state, but a row holds what changed since the row before, so that it stands
# in the first row alone, and in the cells below is nothing. `datastore.state` still has it at the end. In stacked files
# rows without a participant are then most rows: fill them from above, file by file, before files are joined. It is so
# for whatever is set, such as a condition; parameters in the `data` of a screen stand in the rows of that screen.
#
# Versions: lab.js 2018.1.1 with jsdom 22.1.0 in place of a browser. The script fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit lab.js@2018.1.1 jsdom@22.1.0 >/dev/null
cat > rows.js <<'JS'
const fs = require("fs");
const { JSDOM } = require("jsdom");
const { window } = new JSDOM('<div class="container" data-labjs-section="main"><main></main></div>', {
  runScripts: "outside-only",
  pretendToBeVisual: true,
  url: "http://localhost/",
});
window.eval(fs.readFileSync(require.resolve("lab.js/dist/lab.js"), "utf-8"));
const lab = window.lab;

async function run() {
  const datastore = new lab.data.Store();
  datastore.set({ participant: "p1", condition: "pairs" });
  const screens = [1, 2, 3].map(
    (trial) => new lab.html.Screen({ title: "word", content: "+", timeout: 50, data: { trial }, datastore })
  );
  const el = window.document.querySelector("main");
  const study = new lab.flow.Sequence({ title: "study", content: screens, datastore, el });
  const ended = new Promise((done) => study.on("end", done));
  await study.run();
  await ended;
  const [header, ...lines] = datastore.exportCsv().trim().split(/\r?\n/).map((line) => line.split(","));
  const cells = (name) => lines.map((line) => line[header.indexOf(name)]);
  const seen = {
    participant: cells("participant"),
    condition: cells("condition"),
    trial: cells("trial"),
    state: datastore.state.participant,
  };
  console.log(JSON.stringify(seen));
  const alone = (name, value) => cells(name)[0] === value && cells(name).slice(1).every((cell) => cell === "");
  const is_as_seen = alone("participant", "p1") && alone("condition", "pairs") && seen.state === "p1";
  if (!is_as_seen || cells("trial").filter(Boolean).join() !== "1,2,3") {
    throw new Error("the behaviour has changed");
  }
  process.exit(0);
}

run().catch((error) => {
  console.error(error);
  process.exit(1);
});
JS
node rows.js
