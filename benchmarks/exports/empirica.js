/* CSV files of Empirica v1 (@empirica/core 1.12.5) of a naming task, as the writer of `empirica export` writes them.

    npm install @empirica/core@1.12.5
    node benchmarks/exports/empirica.js tests/formats/exports

writes `empirica/playerRounds.csv` and `empirica/rounds.csv`. The records are given to the writer by a connection that
stands in for the server, with the attributes that the program gives a round and a player in it; what was typed is an
attribute of the player's round, and a chat with the attribute and the items of its component `Chat`. */

const fs = require("fs");
const os = require("os");
const path = require("path");
const Module = require("module");
const { execFileSync } = require("child_process");

const COLORS = { red: "ne", blue: "wa" };
const SHAPES = { star: "po", box: "ki" };
const file = path.resolve("node_modules/@empirica/core/dist/admin-classic.cjs");
const program = new Module(file); // the writer has no name outside of its module
program.filename = file;
program.paths = Module._nodeModulePaths(path.dirname(file));
const nothing = new Proxy(class {}, { get: (target, key) => (key in target ? target[key] : nothing) });
program.require = (name) => {
  try {
    return Module.prototype.require.call(program, name);
  } catch (error) {
    return nothing; // the client of the server, which is not asked
  }
};
program._compile(`${fs.readFileSync(file, "utf-8")}\nmodule.exports.exportCSV = exportCSV;\n`, file);

const at = (second) => `2026-11-29T10:00:${String(second).padStart(2, "0")}Z`;
const record = (id, values, lists = {}) => ({
  id,
  attributes: [
    ...Object.entries(values).map(([key, value]) => ({ key, value, createdAt: at(1) })),
    ...Object.entries(lists).flatMap(([key, items]) =>
      items.map((value, index) => ({ key, value, vector: true, index, createdAt: at(2 + index) }))
    ),
  ],
});
const rounds = [];
const playerRounds = [];
for (const color of Object.keys(COLORS)) {
  for (const shape of Object.keys(SHAPES)) {
    const number = rounds.length;
    const said = `${COLORS[color]} ${SHAPES[shape]}`;
    const owned = { batchID: "B1", gameID: "G1" };
    const people = [{ id: "P1", name: "Ann" }, { id: "P2", name: "Ben" }];
    const texts = [said, "ok"].map((text, place) => ({ text, sender: people[place] }));
    const messages = number === 3 ? [] : texts; // nobody writes in the last round
    rounds.push(record(`R${number}`, { ...owned, name: "naming", index: number, color, shape }, { messages }));
    playerRounds.push(
      record(`PR${number}`, { ...owned, roundID: `R${number}`, playerID: "P1", color, shape, signal: said, score: 0 })
    );
  }
}
const each = (records) => async function* () { yield* records; };
const connection = {
  batches: each([]), games: each([]), playerGames: each([]), rounds: each(rounds), playerRounds: each(playerRounds),
  stages: each([]), playerStages: each([]), players: each([]),
};
const archive = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "empirica-")), "export.zip");
const folder = path.join(process.argv[2], "empirica");
fs.mkdirSync(folder, { recursive: true });
program.exports.exportCSV(connection, archive).then(() => {
  execFileSync("unzip", ["-o", "-q", archive, "playerRounds.csv", "rounds.csv", "-d", folder]);
  process.exit(0);
});
