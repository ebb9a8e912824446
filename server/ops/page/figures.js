"use strict";
// The key figures: a number that can be read from across the room, what it means, and its last five minutes as a line.

const POINTS = 60;
const HEIGHT = 30;

/** Each figure: its name, its value and its line(s), the last of them the more important one. */
const FIGURES = [
  { name: "Calls a second", value: (s) => figure(s.perSecond), note: (s) => `${figure(s.total)} since the start`,
    lines: (s) => [s.history.map((point) => point.perSecond)] },
  { name: "Half of the calls take", value: (s) => duration(lastOf(s.history, "p50")), note: (s) => `99 of 100 up to ${duration(lastOf(s.history, "p99"))}`,
    lines: (s) => [s.history.map((point) => point.p50), s.history.map((point) => point.p99)] },
  { name: "Left of a turn", value: (s) => duration(s.left.p50), note: (s) => `1 of 100: ${duration(s.left.p1)} · ${figure(s.left.exhausted)} ran out`,
    lines: (s, recent) => [recent.states.map((each) => each.least), recent.states.map((each) => each.left)] },
  { name: "Under way", value: (s) => figure(s.underWay), note: () => "calls being answered now",
    lines: (s, recent) => [recent.states.map((each) => each.underWay)] },
  { name: "Refused as too many", value: (s, recent) => figure(recent.refused()), note: (s) => `in ${NOW_SECONDS} s · ${figure(s.shed)} since the start`,
    alarm: (s, recent) => recent.refused() > 0, lines: (s, recent) => [recent.states.map((each) => each.refused)] },
  { name: "Failed by our doing", value: (s) => percent(ourShare(s)), note: (s) => `of 5 min · ${plural(callersErrors(s), "caller's error", "callers' errors")}`,
    alarm: (s) => ourShare(s) >= FAILING_SHARE, least: 10, lines: (s) => [s.history.map((point) => point.errors)] },
];

function lastOf(history, name) {
  return history.length ? history[history.length - 1][name] : null;
}

function failures(state, ours) {
  return state.tools.flatMap((tool) => tool.errors).filter((error) => OURS.has(error.name) === ours).reduce((sum, error) => sum + error.count, 0);
}

function ourShare(state) {
  const calls = state.tools.reduce((sum, tool) => sum + tool.calls, 0);
  return calls ? failures(state, true) / calls : 0;
}

function callersErrors(state) {
  return failures(state, false);
}

function showFigures(state, recent) {
  keepChildren(byId("figures"), FIGURES, makeFigure, (node, each) => {
    const [name, value, note, line] = node.children;
    setText(name, each.name);
    setText(value, each.value(state, recent));
    setText(note, each.note(state, recent));
    setAttribute(node, "data-alarm", each.alarm && each.alarm(state, recent) ? "yes" : null);
    drawLines(line.firstElementChild, each.lines(state, recent), each.least);
  });
}

function makeFigure() {
  const svg = drawn("svg", { viewBox: `0 0 ${POINTS - 1} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" });
  return element("div", { class: "figure" }, [
    element("dt"), element("dd", { class: "value" }), element("dd", { class: "note" }), element("dd", { class: "line" }, [svg]),
  ]);
}

/** All lines of one figure share a scale that begins at nothing and reaches to `least` at least; what was not known is a gap, and the newest is at the right. */
function drawLines(svg, lines, least = 1) {
  const most = Math.max(least, ...lines.flat().map((value) => value ?? 0));
  keepChildren(svg, lines, () => drawn("path", { "vector-effect": "non-scaling-stroke" }), (path, values) => {
    setAttribute(path, "d", pathOf(values.slice(-POINTS), most));
  });
}

function pathOf(values, most) {
  let path = "", pen = false;
  values.forEach((value, index) => {
    if (value === null || value === undefined) { pen = false; return; }
    const x = POINTS - values.length + index, y = HEIGHT - 1.5 - (Math.max(0, Math.min(value, most)) / most) * (HEIGHT - 3);
    path += `${pen ? "L" : "M"}${x} ${y.toFixed(1)}`;
    pen = true;
  });
  return path;
}
