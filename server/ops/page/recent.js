"use strict";
// What the page itself keeps of the last minute, by the server's clock: a state tells of five minutes, in which a fault that has
// just begun is a few calls in a hundred. One tally a second, so that it never holds more than sixty; and a point each five
// seconds of what the server keeps no history of.

const KEPT_SECONDS = 60;
const POINT_SECONDS = 5; // between two points of a line, as the server has them in its history
const NOW_SECONDS = 30;
// Failures that are the shop's, not the caller's: whoever sees one suffers.
const OURS = new Set(["TIMEOUT", "DEPENDENCY_FAILURE", "CIRCUIT_OPEN", "BUDGET_EXHAUSTED", "INTERNAL_ERROR", "SERVER_BUSY"]);

class Recent {
  constructor() {
    this.seconds = new Map(); // whole epoch second → Map of "tool\nsource\nwhat" → how many
    this.states = []; // what a state tells of one moment and no history has
  }

  called(call) {
    if (call.at === null) return;
    const second = Math.floor(call.at);
    let tally = this.seconds.get(second);
    if (!tally) {
      this.seconds.set(second, (tally = new Map()));
      while (this.seconds.size > KEPT_SECONDS) this.seconds.delete(this.seconds.keys().next().value);
    }
    const what = call.source === "error" ? call.outcome : call.source === "fallback" ? call.fallback : "";
    const key = [call.tool, call.source ?? "live", what].join("\n");
    if (tally.size < 256 || tally.has(key)) tally.set(key, (tally.get(key) ?? 0) + 1);
  }

  stated(state) {
    const before = this.states[this.states.length - 1];
    const more = before && state.shed !== null && before.shed !== null ? Math.max(0, state.shed - before.shed) : 0;
    const same = before && state.at !== null && state.at - before.from < POINT_SECONDS && state.at >= before.from;
    const point = { from: same ? before.from : state.at ?? 0, underWay: state.underWay, shed: state.shed, refused: more + (same ? before.refused : 0), left: state.left.p50, least: state.left.p1 };
    if (same) this.states.pop();
    this.states.push(point);
    if (this.states.length > MOST_POINTS) this.states.shift();
  }

  /** What the calls of the last `NOW_SECONDS` before `now` were answered from: one entry a tool, source and what. */
  counted(now) {
    const sums = new Map();
    for (const [second, tally] of this.seconds) {
      if (second <= now - NOW_SECONDS || second > now + 1) continue;
      for (const [key, n] of tally) sums.set(key, (sums.get(key) ?? 0) + n);
    }
    return [...sums].map(([key, n]) => {
      const [tool, source, what] = key.split("\n");
      return { tool, source, what, count: n };
    });
  }

  /** Calls that were refused because too many were under way, in the last `NOW_SECONDS`. */
  refused() {
    return this.states.slice(-NOW_SECONDS / POINT_SECONDS).reduce((sum, each) => sum + each.refused, 0);
  }
}

/** The same of a state's five minutes, for as long as no call was seen: from when the page was opened, or where all are too many. */
function countedInState(state) {
  return state.tools.flatMap((tool) => [
    ...SOURCES.map((source) => ({ tool: tool.name, source, what: "", count: tool.sources[source] })),
    ...tool.errors.map((error) => ({ tool: tool.name, source: "error", what: error.name, count: error.count })),
  ]).filter((each) => each.count > 0);
}
