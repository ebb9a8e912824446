"use strict";
// The turns, newest first: bounded in turns and calls. The list stands still while somebody points at it, moves through it, has a
// call open or has paused it, so that nothing slips away under a hand.

const MOST_TURNS = 40;
const MOST_CALLS_OF_TURN = 24;
const MOST_CALLS = 240;
const LANE = 14; // pixels of a lane of backends; the stages above them have half

class TurnList {
  constructor(changed) {
    this.changed = changed;
    this.kept = new Map(); // key → turn with its element, in the order in which they began
    this.arrived = this.calls = this.begun = this.seen = 0; // calls ever, calls kept, turns ever, calls when last shown
    this.paused = this.hovered = false;
    this.budget = 3000;
    this.node = byId("turns");
    const hover = (is) => { this.hovered = is; changed(); };
    this.node.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") hover(true); });
    this.node.addEventListener("pointerleave", () => hover(false));
    this.node.addEventListener("focusout", () => changed());
    this.node.addEventListener("click", (event) => this.toggle(event.target.closest(".call")));
    this.node.addEventListener("keydown", (event) => { if (event.key === "Escape" && event.target.ariaExpanded === "true") event.target.click(); });
    byId("pause").addEventListener("click", () => { this.paused = !this.paused; changed(); });
    for (const id of ["by-tool", "by-source", "by-trouble"]) byId(id).addEventListener("change", () => { this.forced = true; changed(); });
  }

  add(call) {
    this.arrived += 1;
    const key = call.turn || `call ${this.arrived}`;
    let turn = this.kept.get(key);
    if (!turn) {
      this.begun += 1;
      this.kept.set(key, (turn = { key, budget: call.turn_budget_ms, calls: [], missed: 0, number: this.begun, buttons: new Map(), ...turnElements(call) }));
    }
    if (turn.calls.length >= MOST_CALLS_OF_TURN) turn.missed += 1;
    else {
      turn.calls.push(call);
      this.calls += 1;
    }
    for (const each of this.kept.values()) {
      if (this.kept.size <= MOST_TURNS && this.calls <= MOST_CALLS) break;
      if (each === turn) continue;
      this.kept.delete(each.key);
      this.calls -= each.calls.length;
    }
  }

  isWanted(call) {
    const tool = byId("by-tool").value, source = byId("by-source").value;
    return (!tool || call.tool === tool) && (!source || call.source === source) && (!byId("by-trouble").checked || isTrouble(call));
  }

  show() {
    const looked = this.hovered || this.node.querySelector(":focus-visible, [aria-expanded=true]");
    const held = this.paused ? "paused" : looked ? "held while you look" : "";
    if (!held || this.forced || !this.node.children.length) this.refresh();
    const waiting = this.arrived - this.seen, shown = this.node.children.length;
    const kept = this.kept.size ? `${plural(shown, "turn")} of ${figure(this.begun)}` : "";
    setText(byId("turns-sum"), held ? held + (waiting ? ` · ${plural(waiting, "call")} since` : "") : kept);
    setText(byId("pause"), this.paused ? "Go on" : "Pause");
    setAttribute(byId("pause"), "aria-pressed", this.paused);
    byId("turns-none").hidden = shown > 0;
    setText(byId("turns-none"), this.begun ? "No kept turn matches." : "No call since this page was opened. Turns appear here as they are answered.");
  }

  /** Moves only the elements that changed their place, so that focus and open calls stay. */
  refresh() {
    this.forced = false;
    this.seen = this.arrived;
    const shown = [...this.kept.values()].reverse().filter((turn) => turn.calls.some((call) => this.isWanted(call)));
    const nodes = new Set(shown.map((turn) => turn.node));
    for (const node of [...this.node.children]) if (!nodes.has(node)) node.remove();
    let before = this.node.firstElementChild;
    for (const turn of shown) {
      this.fill(turn);
      if (turn.node === before) before = before.nextElementSibling;
      else this.node.insertBefore(turn.node, before);
    }
  }

  fill(turn) {
    const budget = turn.budget ?? this.budget;
    for (const call of turn.calls.slice(turn.list.children.length)) turn.list.append(callElement(call, turn, budget, `inside-${turn.number}-${turn.list.children.length}`));
    const used = Math.max(...turn.calls.map((call) => (call.started_ms_into_turn === null ? -1 : call.started_ms_into_turn + call.ms)));
    const left = turn.calls.map((call) => call.left_ms).filter((each) => each !== null);
    const words = [turn.missed && `${plural(turn.missed, "call")} more`, used >= 0 && `${duration(used)} of ${duration(budget)} used`, left.length && `${duration(Math.min(...left))} left`];
    setText(turn.used, words.filter(Boolean).join(" · "));
    setAttribute(turn.node, "data-level", levelOf(turn));
    turn.calls.forEach((call, index) => { turn.list.children[index].hidden = !this.isWanted(call); });
  }

  /** Opens or closes a call; its details are drawn when it opens. */
  toggle(button) {
    if (!button) return;
    const open = button.getAttribute("aria-expanded") !== "true", inside = button.nextElementSibling;
    button.setAttribute("aria-expanded", open);
    inside.hidden = !open;
    inside.replaceChildren(...(open ? details(opened.get(button)) : []));
    this.changed();
  }
}

const opened = new WeakMap(); // a call's button → the call

function isTrouble(call) {
  return ["error", "stale", "fallback"].includes(call.source) || call.degraded.length > 0 || (call.left_ms !== null && call.left_ms < 100) || call.intervals.some(isBad);
}

/** "bad" where a customer got no answer, "warn" where one got less than usual. */
function levelOf(turn) {
  if (turn.calls.some((call) => call.source === "error" && OURS.has(call.outcome))) return "bad";
  return turn.calls.some(isTrouble) ? "warn" : "good";
}

/** True if the interval failed or was cut off; false for one that goes on after the answer. */
function isBad(interval) {
  return interval.outcome !== "ok" && interval.outcome !== "unfinished";
}

function turnElements({ turn, session, user }) {
  const who = [session && `session ${session}`, user && `customer ${user}`].filter(Boolean).join(" · ");
  const used = element("p", { class: "used" }), list = element("ol");
  const name = element("h3", {}, turn ? `turn ${turn}` : "without a turn");
  return { used, list, node: element("article", { class: "turn" }, element("header", {}, name, element("p", { class: "quiet who" }, who), used), list) };
}

function callElement(call, turn, budget, id) {
  const label = call.source === "error" ? call.outcome : (call.source === "fallback" && call.fallback) || call.source || call.outcome;
  const badges = [chip(call.source ?? "none", label), ...call.degraded.map((what) => chip("without", `without ${what}`)), call.empty ? chip("none", "found nothing") : null];
  const button = element("button", { class: "call", type: "button", "aria-expanded": "false", "aria-controls": id },
    element("span", { class: "what" }, element("span", { class: "tool" }, call.tool), element("span", { class: "badges" }, badges)),
    element("span", { class: "lane" }, drawInTurn(call, turn.calls, budget)), element("span", { class: "lane" }, drawInside(call)),
    element("span", { class: "took" }, element("b", {}, duration(call.ms)), element("small", {}, call.left_ms === null ? "" : `${duration(call.left_ms)} left`)));
  opened.set(button, call);
  return element("li", {}, button, element("div", { class: "details", id, hidden: true }));
}

/** The call's place in its turn, with earlier calls as shadows and the budget as a line; a tenth more for late ones. */
function drawInTurn(call, calls, budget) {
  const scale = budget * 1.1;
  const bars = calls.slice(0, calls.indexOf(call) + 1).filter((each) => each.started_ms_into_turn !== null).map((each) => {
    const from = Math.min(each.started_ms_into_turn / scale, 0.985), wide = Math.max(0.015, Math.min(each.ms / scale, 1 - from));
    const late = each.started_ms_into_turn + each.ms > budget ? "late" : null;
    return drawn("rect", { class: each === call ? late : "ghost", "data-kind": each.source ?? "live", x: share(from, 1), y: "20%", width: share(wide, 1), height: "60%", rx: 1.5 });
  });
  return picture({ class: "in-turn" }, drawn("rect", { class: "budget", x: share(budget, scale), y: 0, width: 1, height: "100%" }), bars);
}

/** The stages in one lane, each over the one that waited for it; below, in the first free lane each, the overlapping intervals
 * of backends, Redis and the processor. */
function drawInside(call) {
  const whole = wholeOf(call), lanes = [];
  for (const each of call.intervals.filter(({ kind }) => kind !== "stage").sort((one, other) => one.from_ms - other.from_ms)) {
    const free = lanes.find((lane) => lane.at(-1).from_ms + lane.at(-1).ms <= each.from_ms + 0.001);
    if (free) free.push(each);
    else lanes.push([each]);
  }
  const stages = call.intervals.filter(({ kind }) => kind === "stage").map((each) => barOf(each, whole, 0, LANE / 2 - 1));
  const below = lanes.slice(0, 4).flatMap((lane, index) => lane.flatMap((each) => [barOf(each, whole, LANE / 2 + index * LANE + 1, LANE - 2), labelOf(each, whole, LANE / 2 + index * LANE)]));
  return picture({ class: "inside", height: LANE / 2 + LANE * Math.max(1, Math.min(4, lanes.length)) }, stages, below);
}

function wholeOf(call) {
  return Math.max(call.ms, ...call.intervals.map((each) => each.from_ms + each.ms), 0.1);
}

function barOf(interval, whole, y, height) {
  const from = Math.min(interval.from_ms / whole, 0.996), wide = Math.max(0.0035, Math.min(interval.ms / whole, 1 - from));
  return drawn("rect", { class: "part", "data-kind": interval.kind, "data-bad": isBad(interval) && "yes", x: share(from, 1), y, width: share(wide, 1), height, rx: 1.5 });
}

/** The name in a bar with room for it: some 2 % of the lane a letter. */
function labelOf(interval, whole, y) {
  const label = (isBad(interval) ? "✕ " : "") + interval.name;
  if (interval.ms / whole < label.length * 0.019) return null;
  return drawn("text", { x: share(interval.from_ms / whole + 0.006, 1), y: y + LANE - 3.6 }, label);
}

/** The details of a call: facts, and its intervals as a table in which each stands beneath its parent. */
function details(call) {
  const facts = [["call", call.call_id], ["at", clockTime(call.at)], ["over", call.transport], ["outcome", call.outcome], ["left of the turn", duration(call.left_ms)],
    ["rung", call.fallback], ["went without", call.degraded.join(", ")], ["session", call.session], ["customer", call.user]];
  const list = element("dl", { class: "pairs" });
  showPairs(list, facts.filter(([, value]) => value && value !== NOTHING));
  if (!call.intervals.length) return [list, element("p", { class: "none" }, "No details were recorded.")];
  const rows = [], visit = (parent, depth) => call.intervals.forEach((each, index) => {
    if (each.parent !== parent) return;
    const name = [element("i", { class: "swatch", "data-kind": each.kind, "aria-hidden": "true" }), each.name];
    const noted = each.detail.map(([key, value]) => `${key.replaceAll("_", " ")} ${value}`).join(" · ");
    const line = row({ "data-bad": isBad(each) && "yes" }, ["", ...name], ["wide track", picture({ height: 10 }, barOf(each, wholeOf(call), 1, 8))], ["n", duration(each.from_ms)], ["n", duration(each.ms)], ["came", element("span", {}, each.outcome), " ", element("small", {}, noted)]);
    line.firstElementChild.style.paddingLeft = `${14 + 8 * Math.min(depth, 15)}px`;
    rows.push(line);
    visit(index, depth + 1);
  });
  visit(null, 0);
  const heads = [["what", null], ["", "wide track"], ["from", "n"], ["took", "n"], ["outcome", "came"]].map(([words, name]) => element(words ? "th" : "td", { scope: words && "col", class: name }, words));
  const table = element("table", { class: "intervals" }, element("caption", { class: "unseen" }, `Stages and attempts of ${call.tool}`), element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
  return [list, table, call.more_intervals ? element("p", { class: "none" }, `${plural(call.more_intervals, "interval")} more had no room.`) : ""];
}
