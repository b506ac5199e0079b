"use strict";
// The screen of a game: what a step shows, what was told of the one before, and the training panel.

function picture(place, number, name) {
  const alts = { step: "The object of this example", choice: "picture", panel: `Unlocked object ${number + 1}` };
  const source = `picture/${place}/${number}?of=${Server.csrf.slice(0, 12)}`;
  return element("figure", {}, element("img", { src: source, alt: name || alts[place], width: 160, height: 160 }),
    name ? element("figcaption", { "aria-hidden": "true" }, name) : null);
}

function resultTable(table) {
  if (!table) return element("p");
  const [first, ...rows] = table.rows.map((cells, row) => element("tr", {}, ...cells.map((cell, column) =>
    element(row && column ? "td" : "th", row && column ? {} : { scope: row ? "row" : "col" }, cell))));
  return element("table", {}, element("caption", {}, table.caption), element("thead", {}, first), element("tbody", {}, ...rows));
}

function shownObject(game, place, number, name) {
  return game.has_pictures ? picture(place, number, name) : element("p", { class: "named" }, name);
}

function tabs(pages, onLook) {
  const bar = element("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the game" });
  const choose = (chosen) => {
    pages.forEach(({ tab, page }, place) => {
      tab.setAttribute("aria-selected", String(place === chosen));
      tab.tabIndex = place === chosen ? 0 : -1;
      page.hidden = place !== chosen;
    });
    if (chosen === 1) onLook();
  };
  pages.forEach((entry, place) => {
    entry.tab = button(entry.label, () => choose(place),
      { role: "tab", id: `tab${place}`, "aria-controls": `page${place}`, "aria-selected": String(!place) });
    entry.tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      choose(1 - place);
      pages[1 - place].tab.focus();
    });
    entry.page.id = `page${place}`;
    entry.page.setAttribute("role", "tabpanel");
    entry.page.setAttribute("aria-labelledby", `tab${place}`);
    bar.append(entry.tab);
  });
  choose(0);
  return bar;
}

let lastResult = null;  // of the answer before, shown above the next example
let reopen = false;  // whether the panel stays open when it is drawn anew

function drawGame(display, state, next) {
  const game = state.game;
  let begun = performance.now();
  const again = async (action, sent) => {
    lastResult = null;
    next((await Server.act(action, sent)).state);
  };
  const send = async (typed) => {
    const found = await Server.act("answer",
      { step: game.step, typed, response_ms: Math.round(performance.now() - begun) });
    lastResult = null;
    if (found.error) return next(found.state);
    const isElsewhere = found.kept !== typed;
    const gained = `Right! ${found.points} ${found.points === 1 ? "point" : "points"} more.`;
    const text = isElsewhere ? "This example was answered in another window."
      : game.view.kind === "attention" ? "Thank you."
        : found.is_right === null ? "Stored."
          : found.is_right ? gained : `Wrong. ${found.told}`.trim();
    const isJudged = !isElsewhere && game.view.kind !== "attention" && found.is_right !== null;
    lastResult = { text, kind: isJudged ? found.is_right ? "right" : "wrong" : "" };
    if (state.settings.has_sound && lastResult.kind) sound(found.is_right);
    return next(found.state);
  };

  const cards = game.panel.map(({ code, name }, place) =>
    element("li", {}, shownObject(game, "panel", place, name), element("span", { class: "code" }, code)));
  const views = { choice: choices, partner: partnerTypes, round: (game.view.choices || []).length ? chosen : typing };
  const test = element("section", {}, ...(views[game.view.kind] || typing)(game, send));
  if (game.told !== undefined) {  // a game for two, in which the server says what came of the round before
    lastResult = { text: game.told, kind: game.told_kind };
    const shape = (of) => of.game && JSON.stringify([of.game.step, of.game.view.kind, of.game.told]);
    poll(display, 1000, state, next, (found) => shape(found) === shape(state));
  }
  const change = (difference) => again("panel", { before: game.num_available, after: game.num_available + difference });
  const canChange = game.max_available > game.min_available;
  const training = element("section", {}, element("ul", { class: "cards", "aria-label": "Unlocked objects and their codes" }, ...cards),
    element("p", { class: "buttons", hidden: !canChange },
      button("Add an object", () => { reopen = true; change(1); }, { disabled: game.num_available >= game.max_available }),
      button("Remove an object", () => { reopen = true; change(-1); }, { disabled: game.num_available <= game.min_available })));

  display.addEventListener("shown", () => { begun = performance.now(); });
  const pages = [{ label: "Test", page: test }, { label: `Training (${game.panel.length})`, page: training }];
  const bar = game.panel.length ? tabs(pages, () => Server.act("look", { step: game.step })) : null;
  const result = element("p", { class: `result ${lastResult ? lastResult.kind : ""}` }, lastResult ? lastResult.text : "");
  Server.say(lastResult ? lastResult.text : "");
  display.append(
    element("h1", { class: "hidden", tabindex: -1 }, `Example ${game.example} of ${game.num_examples}`),
    element("div", { class: "top" },
      element("span", { "aria-hidden": "true" }, `Example ${game.example} of ${game.num_examples}`),
      element("span", { id: "score" }, `${game.score} ${game.score === 1 ? "point" : "points"}`)),
    element("progress", { value: game.example - 1, max: game.num_examples, "aria-label": "Examples done" }),
    result, ...(bar ? [bar, test, training] : [test]),
    settingsBox(state.settings, (changed) => again("choose", changed)),
    element("p", {}, withdrawButton(next)));
  if (reopen) {
    reopen = false;
    pages[1].tab.click();
    display.addEventListener("shown", () => setTimeout(() => pages[1].tab.focus()));
  }
}

function typing(game, send) {
  const { kind, word, name, rule, max_length } = game.view;
  const labels = {
    attention: `To show that you are reading, type the word “${word}”`,
    code: "Secret code of this object",
    speak: "Say which object this is: type a word. Your partner sees it, and chooses among several objects.",
    test: "Test: which code do you give this object? You are not told whether it is right.",
    round: "Your answer",
    message: `What would the agents say of this object? (${rule})`,
  };
  const input = element("input", { id: "typed", type: "text", name: "typed", autocomplete: "off", autocapitalize: "none",
    autocorrect: "off", spellcheck: "false",
    ...(["test", "speak"].includes(kind) ? { pattern: kind === "test" ? ".*[A-Za-z].*" : "\\s*[A-Za-z]+\\s*", title: "letters from a to z" } : {}), maxlength: Math.min(max_length || 64, 64), required: true, "data-focus": true });
  return [kind === "attention" ? null : shownObject(game, "step", game.step, name),
    form([element("p", {}, element("label", { for: "typed" }, labels[kind]), input)], "Answer", ({ typed }) => {
      if (typed.trim()) return send(typed.trim());
      input.focus();
      return null;
    })];
}

function partnerTypes() {
  return [element("p", { class: "said", tabindex: -1, "data-focus": true }, "Your partner is at work. Please wait: this page goes on by itself.")];
}

function chosen(game, send) {  // by the number of the answer
  const { name, choices: texts } = game.view;
  const items = texts.map((text, place) => element("li", {}, button(text, () => send(String(place + 1)))));
  return [element("p", { class: "named", tabindex: -1, "data-focus": true }, name), element("ol", { class: "choices" }, ...items)];
}

function choices(game, send) {
  const { message, choices: names } = game.view;
  const items = names.map((_, place) => element("li", {}, button(
    element("span", {}, `${place + 1}`), () => send(String(place + 1)))));
  items.forEach((item, place) => item.firstChild.append(shownObject(game, "choice", 10 * game.step + place, names[place])));
  return [element("p", { class: "said", tabindex: -1, "data-focus": true }, game.told === undefined ? "The agents say " : "Your partner says ", element("strong", { class: "code" }, message), " Which object is it?"),
    element("ol", { class: game.has_pictures ? "choices pictured" : "choices" }, ...items)];
}
