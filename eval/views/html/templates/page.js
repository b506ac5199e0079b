/* Starts the parts of the page. */

/* Of the figures of a gallery the chosen one is seen; without a script, all are. */
function startGallery(gallery) {
  const controls = gallery.querySelector(".controls"), figures = gallery.querySelectorAll("figure");
  if (!controls) return;
  const select = controls.querySelector("select");
  const show = () => figures.forEach((figure, place) => { figure.hidden = place !== select.selectedIndex; });
  controls.hidden = false;
  select.addEventListener("input", show);
  show();
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

/* Rows of the systems by a part of their names, their kind, and whether they failed; names lead to messages. */
function startSystems(table) {
  const rows = [...table.tBodies[0].rows], failed = byId("failed");
  const show = () => {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter((word) => word), kind = byId("kind").value;
    rows.forEach((row) => {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = !(words.every((word) => name.includes(word)) && (!kind || row.dataset.kind === kind) && (!failed?.checked || "problem" in row.dataset));
    });
    byId("filtered").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  byId("filters").hidden = false;
  [byId("filter"), byId("kind"), failed].forEach((control) => control?.addEventListener("input", show));
  table.querySelectorAll("[data-corpus]").forEach((link) => link.addEventListener("click", () => {
    byId("corpus").value = link.dataset.corpus;
    byId("corpus").dispatchEvent(new Event("input"));
  }));
  show();
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
document.querySelectorAll(".gallery").forEach(startGallery);
if (data.corpora.length) startBrowser(data.corpora, data.objects);
document.querySelectorAll("table.sortable").forEach(makeSortable);
if (byId("systems-table")) startSystems(byId("systems-table"));
startCopying(byId("copy"));
window.addEventListener("beforeprint", openForPrint);
window.addEventListener("afterprint", closeAfterPrint);
