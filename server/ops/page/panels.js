"use strict";
// The key figures, and the tables beside the turns.

const HEIGHT = 30;
const BREAKER_WORDS = { open: "open", half_open: "trying", closed: "closed" };

function showPanels(state, recent) {
  patch(byId("figures"), figures(state, recent));
  showBreakers(state.breakers);
  showTools(state.tools);
  showErrors(state.errors, state.at);
  showDependencies(state.dependencies);
  showReplicas(state);
  showFlags(state.flags);
}

function figures(state, recent) {
  const { calls, budget_left: left, latency_history: history } = state, last = history.at(-1) ?? { p50_ms: null, p99_ms: null };
  const shed = recent.shed(state.at ?? 0), line = (name) => history.map((point) => point[name]);
  const failed = (ours) => state.tools.flatMap((tool) => tool.errors).filter(([name]) => OURS.has(name) === ours).reduce((sum, [, n]) => sum + n, 0);
  const share5xx = failed(true) / Math.max(1, state.tools.reduce((sum, tool) => sum + tool.calls, 0));
  return [
    oneFigure("Calls per second", figure(calls.per_second), `${figure(calls.total)} since the start`, [line("per_second")]),
    oneFigure("p50 latency", duration(last.p50_ms), `p99 ${duration(last.p99_ms)}`, [line("p50_ms"), line("p99_ms")]),
    oneFigure("Turn budget left, p50", duration(left.p50_ms), `p1 ${duration(left.p1_ms)} · ${figure(left.exhausted)} exhausted`),
    oneFigure("In flight", figure(calls.under_way), "calls being answered now"),
    oneFigure("Shed", figure(shed), `in ${NOW_SECONDS} s · ${figure(calls.shed)} since the start`, [], shed > 0),
    oneFigure("5xx", percent(share5xx), `of 5 min · ${figure(failed(false))} callers' errors`, [line("errors")], share5xx >= FAILING_SHARE),
  ];
}

function oneFigure(name, value, note, lines = [], alarm = false) {
  const most = Math.max(1, ...lines.flat().map((each) => each ?? 0));
  const paths = lines.map((values) => drawn("path", { "vector-effect": "non-scaling-stroke", d: pathOf(values, most) }));
  const svg = picture({ viewBox: `0 0 59 ${HEIGHT}`, preserveAspectRatio: "none" }, paths);
  return element("div", { class: "figure", "data-alarm": alarm && "yes" }, element("dt", {}, name), element("dd", { class: "value" }, value), element("dd", { class: "note" }, note), element("dd", { class: "line" }, svg));
}

/** A line of sixty points, the newest at the right; an unknown value is a gap. */
function pathOf(values, most) {
  let path = "", pen = "M";
  values.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    path += `${pen}${60 - values.length + index} ${(HEIGHT - 1.5 - (Math.max(0, Math.min(value, most)) / most) * (HEIGHT - 3)).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

function showBreakers(breakers) {
  const sorted = [...breakers].sort((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state)), away = breakers.filter(isAway).length;
  setText(byId("breakers-sum"), away ? `${away} of ${breakers.length} not closed` : `${plural(breakers.length, "breaker")}, all closed`);
  patch(byId("breakers"), sorted.map((each) => row({ "data-level": { open: "bad", half_open: "warn" }[each.state] },
    ["name", each.name], ["says", chip(each.state, BREAKER_WORDS[each.state]), isAway(each) ? element("small", { class: "fault" }, each.fault) : null],
    ["n", span(each.since_s)], ["n", each.state === "open" ? duration(each.retry_after_ms) : ""], ["n wide", figure(each.changes)])));
}

function showTools(tools) {
  byId("ladder-none").hidden = tools.length > 0;
  const sorted = [...tools].sort((one, other) => other.calls - one.calls || one.name.localeCompare(other.name));
  patch(byId("ladder"), sorted.map((tool) => row({ "data-idle": !tool.calls && "yes" }, ["", ...answersOf(tool)],
    ["n", figure(tool.calls)], ["n", duration(tool.p50_ms)], ["n wide", duration(tool.p95_ms)], ["n", duration(tool.p99_ms)])));
}

/** A bar of the sources' shares, with stale, fallback and failed answers in words: a colour alone would not do. */
function answersOf(tool) {
  const failed = tool.errors.reduce((sum, [, n]) => sum + n, 0), counts = [...SOURCES.map((kind) => [kind, tool.sources[kind]]), ["error", failed]];
  const sum = counts.reduce((all, [, n]) => all + n, 0) || 1;
  let at = 0;
  const bars = counts.map(([kind, n]) => drawn("rect", { height: 8, "data-kind": kind, x: share((at += n) - n, sum), width: share(n, sum) }));
  const lower = [["stale", "stale"], ["fallback", "from its fallback"]].map(([kind, words]) => [words, tool.sources[kind]]);
  const unusual = [...lower, ...tool.errors].filter(([, n]) => n).map(([words, n]) => `${figure(n)} ${words}`);
  return [element("span", { class: "tool" }, tool.name), picture({ height: 8 }, bars),
    element("span", { class: "unseen" }, `${figure(tool.sources.live)} live, ${figure(tool.sources.cache)} from the cache`), element("small", {}, unusual.join(" · "))];
}

function showErrors(errors, now) {
  byId("errors-none").hidden = errors.length > 0;
  patch(byId("errors"), errors.map((error) => {
    const ago = error.at === null || now === null ? "" : `, last ${span(now - error.at)} ago`;
    return element("li", { "data-level": OURS.has(error.name) && "bad" },
      element("p", {}, element("b", {}, error.name), " ", element("span", { class: "tool" }, error.tool), " ", element("small", {}, `${plural(error.count, "time")}${ago}`)),
      element("p", { class: "advice" }, withCode(sentence(error.advice))));
  }));
}

function showDependencies(dependencies) {
  const sorted = [...dependencies].sort((one, other) => STATUSES.indexOf(one.status) - STATUSES.indexOf(other.status));
  setText(byId("dependencies-sum"), sorted.length ? `${sorted.filter((each) => each.status === "ok").length} of ${sorted.length} ok` : "");
  byId("dependencies-none").hidden = sorted.length > 0;
  patch(byId("dependencies"), sorted.map((each) => row({}, ["name", each.name], ["", chip(each.status, each.status)],
    ["says", element("span", {}, each.detail), element("small", { class: "advice" }, withCode(each.advice))])));
}

function showPairs(parent, pairs) {
  patch(parent, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function showReplicas(state) {
  showPairs(byId("sessions"), [["sessions", figure(state.sessions.active)], ...state.sessions.streams.map(([name, n]) => [`${name} streams`, figure(n)])]);
  patch(byId("replicas"), state.replicas.map((each) => row({ "data-level": !each.self && each.seen_s_ago >= 15 && "warn" },
    ["name", each.name + (each.self ? " (this one)" : "")], ["n", each.self ? "now" : `${span(each.seen_s_ago)} ago`])));
}

function showFlags(flags) {
  byId("flags-none").hidden = flags.length > 0;
  byId("flags").parentElement.hidden = flags.length === 0;
  patch(byId("flags"), flags.map((each) => row({}, ["name", each.name], ["", each.kind], ["n", each.on_share === null ? "some" : percent(each.on_share)], ["wide", each.source])));
}

function showHello({ server, turn_budget_ms: budget, tools }) {
  setText(byId("who"), [server.replica, server.worker && `worker ${server.worker}`, server.version].filter(Boolean).join(" · "));
  const started = server.started_at === null ? NOTHING : new Date(Math.min(server.started_at, 8e12) * 1000).toLocaleString("en-GB");
  showPairs(byId("server"), [["version", server.version], ["replica", server.replica], ["worker", server.worker], ["started", started],
    ["authentication", server.auth], ["turn budget", duration(budget)], ...server.settings].filter(([, value]) => value));
  const select = byId("by-tool"), chosen = select.value;
  patch(select, [["", "all tools"], ...tools.map(({ name }) => [name, name])].map(([value, words]) => element("option", { value }, words)));
  select.value = tools.some((tool) => tool.name === chosen) ? chosen : "";
  setText(byId("axis"), `in its turn, of ${duration(budget)}`);
}
