// Pieces that several cards are made of: marks, badges, prices, notes on where an answer came from, errors, buttons.

const ICONS = {
  in_stock: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.9 5.2-4.6 5a.9.9 0 0 1-1.3 0L4 9.1l1.2-1.2 1.4 1.5 4-4.4Z",
  few: "M8 1 .6 14.4h14.8Zm.9 11.2H7.1v-1.7h1.8Zm0-3H7.1V5.4h1.8Z",
  out: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 1.8c1.1 0 2.2.4 3.1 1L4 10.9A5.2 5.2 0 0 1 8 2.8Zm0 10.4c-1.1 0-2.2-.4-3-1L12 5.1a5.2 5.2 0 0 1-4 8.1Z",
  preorder: "M4 1h2v1.6h4V1h2v1.6h2.4v12H1.6v-12H4Zm-.6 5.4v6.4h9.2V6.4Zm1.8 2h5.6V10H5.2Z",
  download: "M7 1.4h2v6.2l2.3-2.3 1.4 1.4L8 11.4 3.3 6.7l1.4-1.4L7 7.6ZM2 12.6h12v2H2Z",
  unknown: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm.9 10.9H7.1v-1.7h1.8ZM10 7.6 8.9 8.8v.5H7.2V8l1.5-1.5a1 1 0 1 0-1.7-.7H5.3A2.7 2.7 0 1 1 10 7.6Z",
  note: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm.9 10.8H7.1V7h1.8Zm0-6H7.1V4.1h1.8Z",
  star: "m8 1.2 2.1 4.4 4.8.7-3.5 3.4.9 4.8L8 12.2l-4.3 2.3.9-4.8L1.1 6.3l4.8-.7Z",
  done: "m6.4 12.6-4-4 1.5-1.5 2.5 2.6 5.8-6 1.4 1.4Z",
};

const icon = (name) => svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[name] }));
const unseen = (...text) => el("span", { class: "unseen" }, ...text);
const chip = (kind, ...inside) => el("span", { class: `chip ${kind}` }, ...inside);

const MARKS = { few: "few", partly: "few", out: "out", preorder: "preorder", download: "download", digital_only: "download", last_known: "unknown", unknown: "unknown" };

/** The state of stock: a mark of its own shape, and words. */
function stockMark(kind, ...more) {
  return el("span", { class: `stock ${kind}` }, icon(among(MARKS, kind) || "in_stock"), el("span", {}, word(kind), ...more));
}

/** The state of an offer, and the number left of the last few. */
function offerKind(offer, item = {}) {
  if (item.availability === "last_known") return ["last_known"];
  if (offer.stock_is === "download") return ["download"];
  if (offer.stock === 0) return ["out"];
  if (number(offer.stock) === null) return ["unknown"];
  if (offer.stock_is === "sum_of_volumes") return [list(item.missing_volumes).length ? "partly" : "in_stock"];
  return offer.stock <= FEW ? ["few", word("left", offer.stock)] : ["in_stock"];
}

const FEW = 2;
const stockKind = (inStock) => (inStock === true ? "in_stock" : inStock === false ? "out" : "unknown");

const AGES = { all_ages: "A", teen: "13+", older_teen: "16+", adult: "18+" };

/** The audience, as publishers print it on covers; read aloud in whole words. */
function audienceMark(audience) {
  const mark = among(AGES, audience);
  return mark && el("span", { class: `age ${audience}`, title: word(audience) }, el("span", { "aria-hidden": "true" }, mark), unseen(word(audience)));
}

function rating(value, readers) {
  const stars = number(value);
  if (stars === null || stars < 0 || stars > 5) return null;
  const digits = stars.toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const of = count(readers);
  return el("span", { class: "rating" }, icon("star"), el("span", { "aria-hidden": "true" }, digits, of && el("small", {}, ` (${of})`)), unseen(word("rated", digits)));
}

/** Both names of a title: the one in the customer's language, and the other one where it is another. */
function namesOf(title, native) {
  const [foreign, own] = [plain(title, 300), plain(native, 300)];
  const shown = (language() === "ja" ? own || foreign : foreign || own) || plain("—");
  const other = shown === own ? foreign : own;
  return { shown, other: other && other.toLowerCase() !== shown.toLowerCase() ? other : null };
}

/** The server's additions to a result: names in Japanese where it has one name of each title, and the tools that are on. */
const beside = { names: {}, tools: null };

/** True if the customer may use a tool; by default, where a host hands on the result alone, if it is on by default. */
const isOn = (tool) => (beside.tools ? beside.tools.includes(tool) : tool !== "preview_manga_pages");

/** A row's title in the customer's language, of at most so many letters; its id where it has no name. */
function nameOf(row, most = 300) {
  const native = among(beside.names, row.title_id);
  return plain(plain(row.title || native) ? namesOf(row.title, native).shown : row.title_id, most) || "—";
}

/** The price, the list price, and the end of the campaign. */
function price(offer, unit) {
  const now = money(offer, "price");
  if (now === null) return null;
  const otherwise = money(offer, "list_price");
  const campaign = object(offer.campaign);
  const ends = day(campaign.until);
  return el(
    "span",
    { class: "price" },
    el("b", {}, now),
    unit && el("small", {}, ` ${unit}`),
    otherwise && el("small", { class: "otherwise" }, el("s", { "aria-hidden": "true" }, otherwise), unseen(word("instead", otherwise))),
    (ends || campaign.name) && chip("sale", said("span", {}, campaign.name, 60), ends && campaign.name ? " · " : null, ends && word("until", ends)),
  );
}

/** The source and the gaps of an answer in one quiet line; null for a current, whole one. */
function provenance(result) {
  const call = object(object(result._meta)["com.mangaassist/call"]);
  const notes = [];
  if (call.source === "stale") notes.push(word("stale", moment(call.asOf) || "—"));
  if (call.source === "fallback") notes.push(word(/standby/.test(call.fallback) ? "standby" : /popular|trending/.test(call.fallback) ? "popular" : "lastKnown"));
  const without = list(call.degraded);
  if (without.includes("stock")) notes.push(word("noStock"));
  else if (call.source !== "fallback" && without.some((each) => each === "catalog" || each === "vector")) notes.push(word("partial"));
  if (call.truncated === true) notes.push(word("truncated"));
  return notes.length ? el("p", { class: "provenance" }, icon("note"), el("span", {}, notes.map((note, at) => [at ? " " : null, note]))) : null;
}

const ERRORS = {
  NOT_FOUND: ["notFound", "notFoundMore"], FORBIDDEN: ["signIn", "signInMore"], VALIDATION_ERROR: ["unclear", "unclearMore"],
  SERVER_BUSY: ["busy", "soon"], RATE_LIMITED: ["busy", "soon"], TOOL_NOT_FOUND: ["off", "offMore"],
};

/** A failure in words for a customer; the server's own words are for the model. */
function failure(result, again) {
  const { name, data } = object(object(result.structuredContent).error);
  const [what, more] = among(ERRORS, name) || ["sorry", "soon"];
  const retry = again && object(data).retryable === true && button(word("tryAgain"), again);
  return el("section", { class: "message", role: "alert" }, icon("note"), el("div", {}, el("h1", {}, word(what)), el("p", {}, word(more)), retry));
}

const message = (title, more) => el("section", { class: "message", role: "status" }, icon("note"), el("div", {}, el("h1", {}, title), more && el("p", {}, more)));

/** A button that asks the host, cannot be pressed twice, and shows the outcome. */
function button(text, press, about = null, kind = "") {
  const says = el("span", { class: "says", role: "status" });
  const pressed = async () => {
    if (knob.getAttribute("aria-disabled") === "true") return;
    knob.setAttribute("aria-disabled", "true");
    says.textContent = word("waiting");
    const told = await press().catch(() => word("notAsked"));
    says.textContent = typeof told === "string" ? told : "";
    knob.removeAttribute("aria-disabled");
  };
  const knob = el("button", { type: "button", class: kind, "aria-label": about && `${text}: ${about}`, click: pressed }, text);
  return el("span", { class: "asking" }, knob, says);
}

/** Asks the shop through the host where that is allowed, and shows the answer; else says it in the conversation. */
async function request(tool, given, words, show) {
  if (!context.tools) {
    await ask.message(words);
    return word("asked");
  }
  const result = await ask.callTool(tool, given);
  if (result.isError) return word(among(ERRORS, object(object(result.structuredContent).error).name)?.[0] || "notAsked");
  return show(result);
}

const head = (text, back) => el("header", { class: "head" }, el("h1", {}, text), back && el("span", { class: "back" }, button(word("back"), back, null, "quiet")));

/** Puts a view in place of the card's, and the keyboard at its beginning when the customer asked for it. */
function place(nodes, focus = false) {
  const room = document.getElementById("card");
  room.replaceChildren(...nodes.flat(3).filter(Boolean));
  if (!focus) return;
  const heading = room.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus();
}

/** The content notes of a title, in a line. */
function contentLine(notes) {
  const names = list(notes).map(tag).filter(Boolean).slice(0, 8);
  return names.length > 0 && `${word("contentNotes")}: ${names.join(language() === "ja" ? "・" : ", ")}`;
}

/** Begins a card that `draw`s a result; before there is one it waits, and says so. */
function show(draw) {
  const following = (paint) => (given, host) => {
    follow(host);
    const { names, tools } = object(object(given._meta)["com.mangaassist/card"]);
    Object.assign(beside, { names: object(names), tools: Array.isArray(tools) ? tools : null });
    paint(given);
  };
  card({
    render: following((result) => (result.isError ? place([failure(result)]) : draw(result))),
    input: following(() => place([el("p", { class: "waiting", role: "status" }, word("loading"))])),
    cancelled: following(() => place([message(word("cancelled"))])),
  });
}
