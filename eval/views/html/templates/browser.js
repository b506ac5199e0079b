/* The message browser: search, sort and show the messages of a corpus. */

const PAGE = 50;

function startBrowser(corpora, objects) {
  const controls = ["corpus", "search", "search-in", "sort"].map(byId);
  let limit = PAGE;
  const show = () => showMessages(corpora[byId("corpus").value], objects, limit);
  controls.forEach((control) => control.addEventListener("input", () => { limit = PAGE; show(); }));
  byId("more").addEventListener("click", () => { limit += 4 * PAGE; show(); });
  show();
}

function searchable(corpus) {
  if (corpus.prepared) return corpus.prepared;
  const names = corpus.meanings.map((meaning) => meaning.map((id) => corpus.concepts[id]));
  const spoken = corpus.messages.map((message) => message.map((symbol) => corpus.symbols[symbol][0]));
  const shown = names.map((each, meaning) => corpus.spelt[meaning] ?? each.join(" "));
  corpus.prepared = { names, shown, texts: names.map((each, meaning) => `${shown[meaning]} ${each.join(" ")}`.toLowerCase()), spoken, sets: spoken.map((each) => new Set(each.map((name) => name.toLowerCase()))) };
  return corpus.prepared;
}

function matches(corpus, words, where) {
  const { texts, sets } = searchable(corpus);
  return corpus.rows.map((row, place) => [...row, corpus.pictures[corpus.picture_of_row[place]]]).filter(([message, meaning]) => words.every((word) =>
    (where !== "meaning" && sets[message].has(word)) || (where !== "symbol" && texts[meaning].includes(word))));
}

function sorted(corpus, rows, by) {
  const { texts } = searchable(corpus);
  const natural = new Intl.Collator("en", { numeric: true }).compare;
  const compare = {
    frequency: (one, other) => corpus.uses[other[0]] - corpus.uses[one[0]] || byContent(corpus.messages[one[0]], corpus.messages[other[0]]) || other[2] - one[2],
    meaning: (one, other) => natural(texts[one[1]], texts[other[1]]),
    message: (one, other) => byContent(corpus.messages[one[0]], corpus.messages[other[0]]),
    length: (one, other) => corpus.lengths[one[0]] - corpus.lengths[other[0]],
  }[by];
  return by === "examples" ? rows : [...rows].sort(compare);
}

function byContent(one, other) {
  for (let place = 0; place < Math.min(one.length, other.length); place += 1) {
    if (one[place] !== other[place]) return one[place] - other[place];
  }
  return one.length - other.length;
}

function showMessages(corpus, objects, limit) {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter((word) => word);
  const found = sorted(corpus, matches(corpus, words, byId("search-in").value), byId("sort").value);
  const rows = found.slice(0, limit).map((row) => messageRow(corpus, objects, row));
  const table = byId("messages-table");
  table.tBodies[0].replaceChildren(...rows);
  table.classList.toggle("plain", !table.querySelector("td.object > *"));
  byId("corpus-about").textContent = corpus.about.join(" · ");
  const all = corpus.rows.length, part = all < corpus.num_pairs ? ` (the page holds the examples and the most used, ${all.toLocaleString("en")} of ${corpus.num_pairs.toLocaleString("en")})` : "";
  const pictured = corpus.picture_of_row.filter((place) => place >= 0).length, pictures = pictured && pictured < all ? `; the first ${pictured.toLocaleString("en")} have a picture` : "";
  byId("found").textContent = `${found.length.toLocaleString("en")} of ${all.toLocaleString("en")} messages with their meanings${part}; ${rows.length} shown${pictures}`;
  byId("more").hidden = found.length <= limit;
  showDictionary(corpus);
}

function messageRow(corpus, objects, [message, meaning, count, picture]) {
  const names = searchable(corpus).names[meaning], shown = searchable(corpus).shown[meaning];
  const uses = corpus.uses[message];
  return element("tr", {},
    element("td", { class: "object" }, picture ? element("img", { src: picture[0], alt: picture[1], title: picture[1], decoding: "sync" }) : objectOf(names, objects)),
    element("td", {}, shown),
    element("td", {}, tiles(corpus, message, new Set(names))),
    element("td", { class: "number", title: `the message is used ${uses} times in all` }, count.toLocaleString("en")));
}

function tiles(corpus, message, meaning) {
  const symbols = corpus.messages[message];
  const made = symbols.map((symbol) => {
    const word = corpus.translations[symbol];
    return element("span", { class: "tile" }, tile(corpus, symbol),
      word ? element("span", { class: meaning.has(word[0]) ? "" : "absent", title: `stands for ${word[0]} in the best matching${meaning.has(word[0]) ? "" : ", which is not in this meaning"}` }, word[0]) : null);
  });
  if (!made.length) made.push(element("small", {}, "(empty)"));
  if (corpus.lengths[message] > symbols.length) made.push(element("small", {}, `… ${corpus.lengths[message]} symbols`));
  return element("span", { class: "message" }, ...made);
}

function tile(corpus, symbol) {
  const [name, colour, ink] = corpus.symbols[symbol];
  const made = element("b", {}, name);
  made.style.background = colour;
  made.style.color = ink;
  return made;
}

function showDictionary(corpus) {
  const place = byId("dictionary"), words = Object.entries(corpus.translations);
  place.hidden = !words.length;
  const rows = words.filter(([symbol]) => corpus.symbols[symbol]).sort((one, other) => other[1][1] - one[1][1]).slice(0, 500);
  place.querySelector("tbody").replaceChildren(...rows.map(([symbol, [concept, weight, share]]) => element("tr", {},
    element("th", { scope: "row" }, element("span", { class: "tile" }, tile(corpus, symbol))), element("td", {}, concept),
    element("td", { class: "number" }, weight.toLocaleString("en")), element("td", { class: "number" }, `${Math.round(100 * share)} %`))));
}

/* The object of a meaning whose concepts name a shape, and a colour. */
function objectOf(names, objects) {
  const values = Object.fromEntries(names.filter((name) => name.includes("=")).map((name) => [name.slice(0, name.indexOf("=")), name.slice(name.indexOf("=") + 1)]));
  if (!objects.shapes.includes(values.shape)) return null;
  const named = values.color ?? values.colour ?? "", colour = objects.colours[named] ?? named;
  const look = { fill: CSS.supports("color", colour) ? colour : "white", stroke: "currentColor", "stroke-width": 0.8 };
  const star = Array.from({ length: 10 }, (_, place) => {
    const angle = (place * Math.PI) / 5, far = place % 2 ? 4.4 : 11;
    return `${(12 + far * Math.sin(angle)).toFixed(1)} ${(12 - far * Math.cos(angle)).toFixed(1)}`;
  });
  const regular = (corners) => Array.from({ length: corners }, (_, place) => {
    const angle = (2 * place * Math.PI) / corners;
    return `${(12 + 10 * Math.sin(angle)).toFixed(1)} ${(12 - 10 * Math.cos(angle)).toFixed(1)}`;
  });
  const polygon = (points) => drawn("path", { d: `M${points.join("L")}z`, ...look });
  const plus = () => drawn("path", { d: "M9 2h6v7h7v6h-7v7h-6v-7h-7v-6h7z", ...look });
  const made = {
    circle: () => drawn("circle", { cx: 12, cy: 12, r: 9.5, ...look }),
    ellipse: () => drawn("ellipse", { cx: 12, cy: 12, rx: 11, ry: 6, ...look }),
    square: () => drawn("rect", { x: 3, y: 3, width: 18, height: 18, ...look }),
    rectangle: () => drawn("rect", { x: 1, y: 6, width: 22, height: 12, ...look }),
    triangle: () => polygon(["12 2", "22 21", "2 21"]),
    diamond: () => polygon(regular(4)), pentagon: () => polygon(regular(5)), hexagon: () => polygon(regular(6)),
    star: () => polygon(star), cross: plus, plus,
  }[values.shape];
  return made ? drawn("svg", { width: 26, height: 26, viewBox: "0 0 24 24", role: "img", "aria-label": `${named} ${values.shape}`.trim() }, made()) : null;
}
