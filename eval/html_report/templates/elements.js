"use strict";
/* Small makers of elements. Texts of data become text nodes and never markup. */

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function setOptions(select, names, chosen) {
  select.replaceChildren(...names.map((name, place) => element("option", { value: place }, name)));
  select.value = chosen;
}

/* A picture with a text alternative, as wide as its place, so that its letters keep their size. */
function picture(width, height, title, description, ...children) {
  return drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}. ${description}` },
    drawn("title", {}, title),
    drawn("desc", {}, description),
    ...children,
  );
}

function text(x, y, content, attributes = {}) {
  return drawn("text", { x, y, ...attributes }, content);
}

function line(x1, y1, x2, y2, attributes = {}) {
  return drawn("line", { x1, y1, x2, y2, ...attributes });
}

function cut(content, most) {
  return content.length <= most ? content : `${content.slice(0, most - 1)}…`;
}

function shortNumber(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en");
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/* Round values for the ticks of an axis. */
function ticks(low, high, most) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-6; tick += step) {
    found.push(Number(tick.toPrecision(12)));
  }
  return found;
}

/* The marks of series and panels besides their colours, for those who do not see these. */
const MARKS = ["circle", "square", "triangle", "diamond", "cross", "ring", "plus", "bar"];

function mark(kind, x, y, size, colour, attributes = {}) {
  const r = size / 2;
  const paths = {
    square: `M${x - r} ${y - r}h${size}v${size}h${-size}z`,
    triangle: `M${x} ${y - r * 1.2}l${r * 1.2} ${r * 2.1}h${-r * 2.4}z`,
    diamond: `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`,
    bar: `M${x - r * 1.3} ${y - r * 0.5}h${r * 2.6}v${r}h${-r * 2.6}z`,
  };
  const strokes = {
    cross: `M${x - r} ${y - r}l${size} ${size}M${x + r} ${y - r}l${-size} ${size}`,
    plus: `M${x - r * 1.2} ${y}h${r * 2.4}M${x} ${y - r * 1.2}v${r * 2.4}`,
  };
  if (kind === "circle") return drawn("circle", { cx: x, cy: y, r, fill: colour, ...attributes });
  if (kind === "ring") {
    return drawn("circle", { cx: x, cy: y, r, fill: "none", stroke: colour, "stroke-width": 2, ...attributes });
  }
  if (strokes[kind]) return drawn("path", { d: strokes[kind], stroke: colour, "stroke-width": 2.2, fill: "none", ...attributes });
  return drawn("path", { d: paths[kind], fill: colour, ...attributes });
}
