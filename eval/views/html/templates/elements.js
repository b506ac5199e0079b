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
