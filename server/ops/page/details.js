"use strict";
// A call that was opened: every interval a row of a table, in its place under what it belongs to, to be read as well as seen.

const COLUMNS = [["what", ""], ["", "wide track"], ["from", "n"], ["took", "n"], ["of that its own", "n wide"], ["outcome", "came"]];

function makeDetails(call) {
  const facts = [
    ["call", call.id], ["at", clockTime(call.at)], ["over", call.transport], ["outcome", call.outcome], ["left of the turn", duration(call.left)],
    ["rung", call.fallback], ["went without", call.degraded.join(", ")], ["session", call.session], ["customer", call.user],
  ].filter(([, value]) => value && value !== NOTHING);
  const pairs = element("dl", { class: "pairs" }, facts.map(([name, value]) => element("div", {}, [element("dt", { text: name }), element("dd", { text: value })])));
  if (!call.intervals.length) return [pairs, element("p", { class: "none", text: "Nothing was noted of its inside." })];
  const whole = Math.max(call.took, ...call.intervals.map((each) => each.from + each.took), 0.1);
  const table = element("table", { class: "intervals" }, [
    element("caption", { class: "unseen", text: `Stages and attempts of ${call.tool}` }),
    element("thead", {}, [element("tr", {}, COLUMNS.map(([name, classes], index) =>
      index && !name ? element("td", { class: classes }) : element("th", { scope: "col", class: classes || null, text: name })))]),
    element("tbody", {}, inOrder(call.intervals).map(({ interval, depth, own }) => intervalRow(interval, depth, own, whole))),
  ]);
  const more = call.more ? element("p", { class: "none", text: `${plural(call.more, "interval")} more had no room.` }) : null;
  return [pairs, table, more];
}

function intervalRow(interval, depth, own, whole) {
  const from = Math.min(interval.from / whole, 0.996);
  const bar = drawn("svg", { height: 10, "aria-hidden": "true", focusable: "false" }, [drawn("rect", {
    class: "part", "data-kind": interval.kind, "data-bad": isBad(interval) ? "yes" : null, x: share(from, 1), y: 1,
    width: share(Math.max(0.004, Math.min(interval.took / whole, 1 - from)), 1), height: 8, rx: 1,
  })]);
  const told = interval.detail.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(" · ");
  return element("tr", { "data-bad": isBad(interval) ? "yes" : null, "data-passed": own < whole / 50 ? "yes" : null }, [
    element("th", { scope: "row", "data-depth": Math.min(depth, 15) }, [element("i", { class: "swatch", "data-kind": interval.kind, "aria-hidden": "true" }), interval.name]),
    element("td", { class: "wide track" }, [bar]),
    element("td", { class: "n", text: duration(interval.from) }), element("td", { class: "n", text: duration(interval.took) }),
    element("td", { class: "n wide", text: duration(own) }),
    element("td", { class: "came" }, [element("span", { text: interval.outcome }), told ? " " : null, element("small", { text: told })]),
  ]);
}

/** The intervals as a tree is read, each with its depth and with the time that none of those inside it had. */
function inOrder(intervals) {
  const inside = intervals.map(() => []), top = [];
  intervals.forEach((each, index) => (each.parent === null ? top : inside[each.parent]).push(index));
  const found = [];
  const visit = (index, depth) => {
    const interval = intervals[index];
    found.push({ interval, depth, own: Math.max(0, interval.took - covered(inside[index].map((each) => intervals[each]))) });
    inside[index].forEach((each) => visit(each, depth + 1));
  };
  top.forEach((index) => visit(index, 0));
  return found;
}

/** Milliseconds in which at least one of them ran. */
function covered(intervals) {
  let sum = 0, end = -Infinity;
  for (const each of [...intervals].sort((one, other) => one.from - other.from)) {
    sum += Math.max(0, each.from + each.took - Math.max(end, each.from));
    end = Math.max(end, each.from + each.took);
  }
  return sum;
}
