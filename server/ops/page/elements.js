"use strict";
// The only ways in which this page makes and changes elements: text stays text, and what has not changed is not touched, so that
// nothing is laid out again and a selection or a reader's place survives the next second.

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; `text` is its text. Attributes of value null are left away. */
function element(tag, attributes = {}, children = []) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, children = []) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function setText(node, words) {
  if (node.textContent !== words) node.textContent = words;
}

/** Words in which what stands between `backticks` is to be typed. */
function setWords(node, words) {
  if (node.dataset.words === words) return;
  node.dataset.words = words;
  node.replaceChildren(...words.split("`").map((part, index) => (index % 2 ? element("code", { text: part }) : part)));
}

function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/** Makes `parent` have one child an item, made by `make()` once and brought up to date by `fill(child, item)`. */
function keepChildren(parent, items, make, fill) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  while (parent.children.length < items.length) parent.append(make());
  items.forEach((item, index) => fill(parent.children[index], item));
}

/** A table's row with a cell for each class name; the first heads the row. */
function row(classes) {
  return element("tr", {}, classes.map((name, index) => element(index ? "td" : "th", { class: name || null, scope: index ? null : "row" })));
}

/** A label that says in words what its colour says. */
function chip(kind, words, title = null) {
  return element("span", { class: "chip", "data-kind": kind, text: words, title });
}

function setChip(node, kind, words) {
  let inner = node.firstElementChild;
  if (!inner) node.append((inner = chip(kind, words)));
  setAttribute(inner, "data-kind", kind);
  setText(inner, words);
}

/** A legend's entries: a swatch of the kind's colour and its word. */
function legend(parent, kinds) {
  parent.replaceChildren(...kinds.map(([kind, words]) => element("span", {}, [
    element("i", { class: "swatch", "data-kind": kind, "aria-hidden": "true" }), words,
  ])));
}
