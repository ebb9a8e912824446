"use strict";
// One call as bars. Everything is a percentage of a width that nobody has to measure: drawing reads no layout.

const LANES = 4; // of backends, at most, under the lane of stages
const LANE = 14; // pixels a lane of backends
const STAGES = 7; // pixels of the lane of stages
const WORTH = 0.35; // percent: what is narrower than this is not seen, and not drawn
const PER_LETTER = 1.9; // percent of the lane that a letter of a label may take

/** The turn's own scale: its budget, and a tenth beyond it for what comes too late. */
function turnScale(budget) {
  return budget * 1.1;
}

/** Where this call lies in its turn, with the other calls of the turn as shadows and the budget as a line. */
function drawInTurn(call, others, budget) {
  const scale = turnScale(budget), late = call.into !== null && call.into + call.took > budget;
  const spent = call.into === null ? null : drawn("rect", { class: "spent", x: 0, y: 0, width: share(call.into, scale), height: "100%" });
  return drawn("svg", { class: "in-turn", "aria-hidden": "true", focusable: "false" }, [
    spent,
    ...others.filter((other) => other.into !== null).map((other) => lineOf(other, scale, "ghost")),
    drawn("rect", { class: "budget", x: share(budget, scale), y: 0, width: 1, height: "100%" }),
    call.into === null ? null : lineOf(call, scale, late ? "took late" : "took", call.source),
  ]);
}

function lineOf(call, scale, name, source = null) {
  const from = Math.min(call.into / scale, 0.985);
  const width = Math.max(0.015, Math.min(call.took / scale, 1 - from));
  return drawn("rect", { class: name, "data-kind": source ?? "live", x: `${(from * 100).toFixed(2)}%`, y: "20%", width: `${(width * 100).toFixed(2)}%`, height: "60%", rx: 1.5 });
}

function share(value, of) {
  return `${(Math.max(0, Math.min(1, value / of)) * 100).toFixed(2)}%`;
}

/** What happened inside the call: the stages in one lane, each over the one that waited for it, and what they asked of
 * backends, Redis and the processor in lanes below. */
function drawInside(call) {
  const whole = Math.max(call.took, ...call.intervals.map((each) => each.from + each.took), 0.1);
  const lanes = packed(call.intervals.filter((each) => each.kind !== "stage"));
  const stages = call.intervals.filter((each) => each.kind === "stage");
  const height = STAGES + LANE * Math.max(1, Math.min(LANES, lanes.length));
  const children = stages.length ? stages.flatMap((each) => barOf(each, whole, 0, depthOf(call, each))) : [wholeCall(call, whole)];
  lanes.slice(0, LANES).forEach((lane, index) => children.push(...lane.flatMap((each) => barOf(each, whole, 1 + index, 0))));
  return drawn("svg", { class: "inside", height, "aria-hidden": "true", focusable: "false" }, children);
}

function wholeCall(call, whole) {
  return drawn("rect", { class: "part", "data-kind": "stage", x: 0, y: 0, width: share(call.took, whole), height: STAGES - 1, rx: 1 });
}

function barOf(interval, whole, lane, depth) {
  const percentWide = (interval.took / whole) * 100, at = (interval.from / whole) * 100;
  if (percentWide < WORTH && interval.kind === "stage") return [];
  const wide = Math.max(percentWide, WORTH), y = lane ? STAGES + (lane - 1) * LANE + 1 : 0, height = lane ? LANE - 2 : STAGES - 1;
  const bar = drawn("rect", {
    class: "part", "data-kind": interval.kind, "data-bad": isBad(interval) ? "yes" : null, "data-depth": depth ? depth % 8 : null,
    "data-tip": tipOf(interval), x: `${Math.min(at, 99.6).toFixed(2)}%`, y, width: `${Math.min(wide, 100 - Math.min(at, 99.6)).toFixed(2)}%`, height, rx: 1.5,
  });
  const parts = [bar], waited = waitedShare(interval);
  if (waited > 0) parts.push(drawn("rect", { class: "waited", x: `${at.toFixed(2)}%`, y, width: `${(wide * waited).toFixed(2)}%`, height, rx: 1.5 }));
  const label = isBad(interval) ? `✕ ${interval.name}` : interval.name;
  const room = wide * (1 - waited);
  if (lane > 0 && room > label.length * PER_LETTER) {
    parts.push(drawn("text", { x: `${(at + wide - room + 0.6).toFixed(2)}%`, y: y + LANE - 4.6, text: label, "data-kind": interval.kind, "data-bad": isBad(interval) ? "yes" : null }));
  }
  return parts;
}

/** It failed or was cut off. What merely goes on after the answer did neither. */
function isBad(interval) {
  return interval.outcome !== "ok" && interval.outcome !== "unfinished";
}

/** How much of an attempt was waiting for a place at its backend. */
function waitedShare(interval) {
  const said = interval.detail.find(([name]) => name === "waited_ms");
  const waited = said ? Number(said[1]) : 0;
  return Number.isFinite(waited) && interval.took > 0 ? Math.max(0, Math.min(1, waited / interval.took)) : 0;
}

function depthOf(call, interval) {
  let depth = 0;
  for (let at = interval.parent; at !== null; at = call.intervals[at].parent) depth += 1;
  return depth;
}

/** Puts what overlaps in time into lanes of their own: each goes to the first lane that is free when it begins. */
function packed(intervals) {
  const lanes = [];
  for (const each of [...intervals].sort((one, other) => one.from - other.from)) {
    const free = lanes.find((lane) => lane[lane.length - 1].from + lane[lane.length - 1].took <= each.from + 0.001);
    if (free) free.push(each);
    else lanes.push([each]);
  }
  return lanes;
}

function tipOf(interval) {
  const told = interval.detail.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return [`${interval.name} (${interval.kind})`, `${duration(interval.took)} from ${duration(interval.from)}`, interval.outcome, ...told].join("\n");
}
