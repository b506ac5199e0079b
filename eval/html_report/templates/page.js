/* Starts the parts of the page. */

function startCharts(charts) {
  const figures = charts.figures.map((figure) => figure.name);
  const draws = [];
  const start = (id, controls, draw) => {
    byId(id).hidden = false;
    controls.forEach((control) => byId(control).addEventListener("input", () => draw(charts)));
    draws.push(draw);
  };
  const measures = Object.keys(charts.curves);
  if (measures.length) {
    setOptions(byId("curves-measure"), measures, 0);
    start("curves", ["curves-measure"], drawCurves);
  }
  const first = Math.min(1, figures.length - 1);
  /* Settings that were drawn at random, as in a search, fill no map. */
  const few = charts.keys.map((_, place) => place).filter((place) => different(charts, place).length <= 16);
  const cells = few.slice(0, 2).reduce((product, place) => product * different(charts, place).length, 1);
  if (few.length > 1 && figures.length && cells <= 2 * charts.rows.length) {
    setOptions(byId("heat-figure"), figures, first);
    setOptions(byId("heat-x"), charts.keys, few[1]);
    setOptions(byId("heat-y"), charts.keys, few[0]);
    start("heat", ["heat-figure", "heat-x", "heat-y"], drawHeat);
  }
  if (figures.length > 1 && charts.runs.length > 1) {
    setOptions(byId("scatter-x"), figures, 0);
    setOptions(byId("scatter-y"), figures, 1);
    start("scatter", ["scatter-x", "scatter-y"], drawScatter);
  }
  if (charts.keys.length > 1 && charts.rows.length > 2 && figures.length) {
    setOptions(byId("parallel-figure"), figures, first);
    start("parallel", ["parallel-figure"], drawParallel);
  }
  if (!draws.length) byId("pictures").hidden = true;
  let width = 0;
  const redraw = () => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    draws.forEach((draw) => draw(charts));
  };
  redraw();
  window.addEventListener("resize", redraw);
}

/* Headings that sort their table, by keyboard too. */
function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", { type: "button", title: "sort" });
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const downwards = heading.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", downwards ? "descending" : "ascending");
      const natural = new Intl.Collator("en", { numeric: true }).compare;
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const isNumber = "value" in table.tBodies[0].rows[0].cells[column].dataset;
      const rows = [...table.tBodies[0].rows].sort((one, other) => {
        if (!isNumber) return (downwards ? -1 : 1) * natural(value(one), value(other));
        if (value(one) === "" || value(other) === "") return (value(one) === "") - (value(other) === "");
        return (downwards ? -1 : 1) * (value(one) - value(other));
      });
      table.tBodies[0].append(...rows);
    });
  });
}

function startCopying(button) {
  const source = byId(button.dataset.copies);
  button.addEventListener("click", () => {
    const chosen = window.getSelection();
    chosen.selectAllChildren(source);
    const isDone = document.execCommand("copy");
    button.textContent = isDone ? "Copied" : "Press Ctrl-C";
  });
}

function openForPrint() {
  document.querySelectorAll("details").forEach((each) => { each.dataset.wasOpen = each.open; each.open = true; });
}

function closeAfterPrint() {
  document.querySelectorAll("details").forEach((each) => { each.open = each.dataset.wasOpen === "true"; });
}

const data = JSON.parse(byId("data").textContent);
if (data.charts) startCharts(data.charts);
if (data.corpora.length) startBrowser(data.corpora, data.objects);
document.querySelectorAll("table.sortable").forEach(makeSortable);
startCopying(byId("copy"));
window.addEventListener("beforeprint", openForPrint);
window.addEventListener("afterprint", closeAfterPrint);
