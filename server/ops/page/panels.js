"use strict";
// The tables beside the turns: where answers came from, breakers, dependencies, errors, sessions, flags.

const MARKS = { ok: "ok", degraded: "degraded", down: "down", unknown: "unknown" };
const BREAKER_WORDS = { open: "open", half_open: "trying", closed: "closed" };
const LADDER_KINDS = [...SOURCES, "error"];

function showPanels(state) {
  showBreakers(state.breakers);
  showLadder(state.tools);
  showErrors(state.errors, state.at);
  showDependencies(state.dependencies);
  showReplicas(state);
  showFlags(state.flags);
}

function showBreakers(breakers) {
  const sorted = [...breakers].sort((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state));
  const away = sorted.filter(isAway).length;
  setText(byId("breakers-sum"), away ? `${away} of ${breakers.length} left alone` : `${plural(breakers.length, "breaker")}, all closed`);
  keepChildren(byId("breakers"), sorted, () => row(["name", "says", "n", "n", "n wide"]), (node, each) => {
    const [name, state, since, retry, changes] = node.children;
    setAttribute(node, "data-level", { open: "bad", half_open: "warn", closed: null }[each.state]);
    setText(name, each.name);
    setChip(state, each.state, BREAKER_WORDS[each.state]);
    if (!state.children[1]) state.append(element("small", { class: "fault" }));
    setText(state.lastElementChild, each.state === "closed" ? "" : each.fault);
    setText(since, span(each.since));
    setText(retry, each.state === "open" ? duration(each.retry) : "");
    setText(changes, figure(each.changes));
  });
}

function showLadder(tools) {
  setHidden(byId("ladder-none"), tools.length > 0);
  const sorted = [...tools].sort((one, other) => other.calls - one.calls || one.name.localeCompare(other.name));
  keepChildren(byId("ladder"), sorted, makeRung, (node, tool) => {
    const [first, ...times] = node.children;
    setText(first.firstElementChild, tool.name);
    setAttribute(node, "data-idle", tool.calls ? null : "yes");
    showMix(first, tool);
    [figure(tool.calls), duration(tool.p50), duration(tool.p95), duration(tool.p99)].forEach((words, index) => setText(times[index], words));
  });
}

function makeRung() {
  const node = row(["", "n", "n", "n wide", "n"]);
  node.firstElementChild.append(
    element("span", { class: "tool" }), drawn("svg", { height: 8, "aria-hidden": "true", focusable: "false" }),
    element("span", { class: "unseen" }), element("small"),
  );
  return node;
}

/** A bar of the shares, and in words what is not live or cached: a colour alone would not do. */
function showMix(cell, tool) {
  const [, bars, usual, unusual] = cell.children;
  const counts = LADDER_KINDS.map((kind) => (kind === "error" ? tool.failed : tool.sources[kind]));
  const sum = counts.reduce((all, n) => all + n, 0);
  let at = 0;
  keepChildren(bars, sum ? LADDER_KINDS : [], () => drawn("rect", { height: 8 }), (bar, kind) => {
    const n = counts[LADDER_KINDS.indexOf(kind)];
    setAttribute(bar, "data-kind", kind);
    setAttribute(bar, "x", share(at, sum));
    setAttribute(bar, "width", share(n, sum));
    at += n;
  });
  const names = tool.errors.filter((error) => error.count).map((error) => `${figure(error.count)} ${error.name}`);
  const lower = [tool.sources.stale && `${figure(tool.sources.stale)} stale`, tool.sources.fallback && `${figure(tool.sources.fallback)} from its fallback`, ...names];
  setText(usual, `${figure(tool.sources.live)} live, ${figure(tool.sources.cache)} from the cache`);
  setText(unusual, lower.filter(Boolean).join(" · "));
}

function showErrors(errors, now) {
  setHidden(byId("errors-none"), errors.length > 0);
  const make = () => element("li", {}, [element("p", {}, [element("b"), " ", element("span", { class: "tool" }), " ", element("small")]), element("p", { class: "advice" })]);
  keepChildren(byId("errors"), errors, make, (node, error) => {
    const [name, tool, when] = node.firstElementChild.children;
    setAttribute(node, "data-level", OURS.has(error.name) ? "bad" : null);
    setText(name, error.name);
    setText(tool, error.tool);
    const ago = error.at === null || now === null ? "" : `, last ${span(now - error.at)} ago`;
    setText(when, `${plural(error.count, "time")}${ago}`);
    setWords(node.lastElementChild, sentence(error.advice));
  });
}

function showDependencies(dependencies) {
  const sorted = [...dependencies].sort((one, other) => STATUSES.indexOf(one.status) - STATUSES.indexOf(other.status));
  const well = sorted.filter((each) => each.status === "ok").length;
  setText(byId("dependencies-sum"), sorted.length ? `${well} of ${sorted.length} ok` : "");
  setHidden(byId("dependencies-none"), sorted.length > 0);
  keepChildren(byId("dependencies"), sorted, () => row(["name", "", "says"]), (node, each) => {
    const [name, status, says] = node.children;
    setText(name, each.name);
    setChip(status, each.status, MARKS[each.status]);
    if (!says.firstElementChild) says.append(element("span"), element("small", { class: "advice" }));
    setText(says.firstElementChild, each.detail);
    setWords(says.lastElementChild, each.advice);
  });
}

function showPairs(parent, pairs) {
  const make = () => element("div", {}, [element("dt"), element("dd")]);
  keepChildren(parent, pairs, make, (node, [name, value]) => {
    setText(node.firstElementChild, name);
    setText(node.lastElementChild, value);
  });
}

function showReplicas(state) {
  const streams = state.streams.map(([name, n]) => [`${name} streams`, figure(n)]);
  showPairs(byId("sessions"), [["sessions", figure(state.sessions)], ...streams]);
  keepChildren(byId("replicas"), state.replicas, () => row(["name", "n"]), (node, each) => {
    setText(node.firstElementChild, each.name + (each.self ? " (this one)" : ""));
    setText(node.lastElementChild, each.self ? "now" : `${span(each.seen)} ago`);
    setAttribute(node, "data-level", each.self || each.seen === null || each.seen < 15 ? null : "warn");
  });
}

function showFlags(flags) {
  setHidden(byId("flags-none"), flags.length > 0);
  setHidden(byId("flags").parentElement, flags.length === 0);
  keepChildren(byId("flags"), flags, () => row(["name", "", "n", "wide"]), (node, flag) => {
    const [name, kind, on, source] = node.children;
    setText(name, flag.name);
    setText(kind, flag.kind);
    if (!on.firstElementChild) on.append(drawn("svg", { height: 6, "aria-hidden": "true", focusable: "false" }, [drawn("rect", { height: 6, "data-kind": "live", x: 0 })]), element("small"));
    setAttribute(on.firstElementChild.firstElementChild, "width", share(flag.share ?? 0, 1));
    setText(on.lastElementChild, flag.share === null ? "some" : percent(flag.share));
    setText(source, flag.source);
  });
}

function showHello(hello) {
  const where = [hello.replica, hello.worker && `worker ${hello.worker}`, hello.version].filter(Boolean);
  setText(byId("who"), where.join(" · "));
  const started = hello.startedAt === null ? NOTHING : new Date(Math.min(hello.startedAt, 8e12) * 1000).toLocaleString("en-GB");
  showPairs(byId("server"), [["version", hello.version], ["replica", hello.replica], ["worker", hello.worker], ["started", started],
    ["who is believed", hello.auth], ["a turn has", duration(hello.budget)], ...hello.settings].filter(([, value]) => value));
  const select = byId("by-tool"), chosen = select.value;
  select.replaceChildren(element("option", { value: "", text: "all tools" }), ...hello.tools.map((tool) => element("option", { value: tool.name, text: tool.name })));
  select.value = hello.tools.some((tool) => tool.name === chosen) ? chosen : "";
  setText(byId("axis"), `in its turn, of ${duration(hello.budget)}`);
}
