// The drawing tools of every card. Data reaches the page as text nodes only: no HTML is ever made of it, and no address.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; children that are null, undefined or false are left out. */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Controls and marks that turn the direction of what stands around them; and heaps of marks on one letter.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
const HEAPED = /(\p{M}{3})\p{M}+/gu;

/** Text of the catalogue as it may be shown: one that is no text is null; one that is too long ends with an ellipsis. */
function plain(value, most = 300) {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value).slice(0, most * 8).replace(UNSEEN, "").replace(HEAPED, "$1").trim();
  const letters = Array.from(text);
  if (!letters.length) return null;
  return letters.length > most ? `${letters.slice(0, most).join("").trimEnd()}…` : text;
}

const JAPANESE = /[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]/;

/** The language that a text is written in as far as its letters tell: Japanese, or null for what the card is in. */
function tongue(text) {
  if (JAPANESE.test(text || "")) return "ja";
  return language() === "ja" && /[a-z]/i.test(text || "") ? "en" : null;
}

/** Text of the catalogue in an element of its own, which keeps its direction to itself and says its language. */
function said(name, attributes, value, most) {
  const text = plain(value, most);
  return text === null ? null : el(name, { dir: "auto", lang: tongue(text), ...attributes }, text);
}

const list = (value) => (Array.isArray(value) ? value.filter((each) => each !== null && each !== undefined) : []);
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** A table's entry under a name of the data: null for no name, and for members that every object has. */
const among = (table, name) => (typeof name === "string" && Object.hasOwn(table, name) ? table[name] : null);

/** A count in few digits, whatever its size; null for any other value, such as one below zero. */
function count(value) {
  const known = number(value);
  if (known === null || known < 0) return null;
  const notation = known < 1e9 ? "standard" : known < 1e15 ? "compact" : "scientific";
  return new Intl.NumberFormat(locale(), { notation, maximumFractionDigits: 1 }).format(known);
}

/** An amount of a record as the customer writes it: ¥693, 693円, $7.99. Its currency ends the field's name: price_jpy, price_usd. */
function money(record, name) {
  const field = Object.keys(record).find((each) => each.startsWith(`${name}_`) && /^[a-z]{3}$/.test(each.slice(name.length + 1)));
  const value = number(record[field]);
  if (value === null || value < 0) return null;
  const currency = field.slice(-3).toUpperCase();
  if (currency === "JPY") return word("yen", count(value));
  const notation = value < 1e9 ? "standard" : "compact";
  return new Intl.NumberFormat(locale(), { style: "currency", currency, notation }).format(value);
}

/** A day of the shop's calendar, which is Japan's: "2026-12-14" is that day wherever the customer is. */
function day(value, options = { month: "short", day: "numeric" }) {
  const given = /^(\d{4})-(\d{2})-(\d{2})$/.exec(typeof value === "string" ? value : "");
  const moment = given && new Date(Date.UTC(+given[1], +given[2] - 1, +given[3]));
  if (!moment || moment.toJSON()?.slice(0, 10) !== value) return null;
  return el("time", { datetime: value }, new Intl.DateTimeFormat(locale(), { ...options, timeZone: "UTC" }).format(moment));
}

const LONG_DAY = { weekday: "short", year: "numeric", month: "short", day: "numeric" };
const SHORT_DAY = { weekday: "short", month: "short", day: "numeric" };
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

/** A moment as Japan's clocks show it, and behind it as the customer's own do where those differ; or its day in Japan. */
function moment(value, { own: asked = true, ...options } = { month: "short", day: "numeric", ...CLOCK }) {
  const at = new Date(typeof value === "string" ? value : NaN);
  if (Number.isNaN(at.getTime())) return null;
  const shown = (timeZone) => new Intl.DateTimeFormat(locale(), { ...options, timeZone }).format(at);
  const [own, there] = [ownZone(), shown("Asia/Tokyo")];
  const differs = own && asked && options.hour && shown(own) !== there;
  return el("time", { datetime: at.toISOString() }, there, options.hour && " JST", differs && el("small", {}, ` ${word("yourTime", shown(own))}`));
}

/** "1-41, 43" as at most `most` numbers; text that is no range is left out. */
function numbersOf(ranges, most = 400) {
  const numbers = [];
  for (const part of String(plain(ranges, 2000) || "").split(",")) {
    const bounds = /^\s*(\d{1,4})(?:-(\d{1,4}))?\s*$/.exec(part);
    if (!bounds) continue;
    for (let at = +bounds[1]; at <= +(bounds[2] || bounds[1]) && numbers.length < most; at += 1) numbers.push(at);
  }
  return numbers;
}
