"use strict";
// Makes and changes elements: text stays text, and unchanged elements are not touched, so that a selection or a reader's place
// survives the next second.

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

/** An element; attributes of value null or false and children of value null are left away. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function picture(attributes, ...children) {
  return drawn("svg", { ...attributes, "aria-hidden": "true", focusable: "false" }, ...children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

/** Gives `parent` these children; equal ones stay as they are. */
function patch(parent, children) {
  children.forEach((child, index) => {
    const old = parent.children[index];
    if (!old) parent.append(child);
    else if (!old.isEqualNode(child)) old.replaceWith(child);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

function setText(node, words) {
  if (node.textContent !== words) node.textContent = words;
}

function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** A table's row; the first cell heads it. Cells are [class name, ...children]. */
function row(attributes, ...cells) {
  return element("tr", attributes, cells.map(([name, ...children], index) => element(index ? "td" : "th", { class: name || null, scope: index ? null : "row" }, ...children)));
}

/** A label that says in words what its colour says. */
function chip(kind, words) {
  return element("span", { class: "chip", "data-kind": kind }, words);
}

/** Words in which `backticks` mark what is to be typed. */
function withCode(words) {
  return words.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

function legend(parent, kinds) {
  patch(parent, kinds.map(([kind, words]) => element("span", {}, element("i", { class: "swatch", "data-kind": kind, "aria-hidden": "true" }), words)));
}

function share(value, of) {
  return `${(Math.max(0, Math.min(1, value / of)) * 100).toFixed(2)}%`;
}
