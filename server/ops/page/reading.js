"use strict";
// What comes over the stream, made into values of a known shape: a page that somebody needs at night must not break on a field
// that is missing, a number without end, or a text that an attacker wrote. Nothing further in looks at raw JSON.

const MOST_ROWS = 64; // of any list in a state: tools, breakers, flags …
const MOST_POINTS = 60;
const LARGEST = 1e13; // a clock in milliseconds stays below
const MOST_INTERVALS = 128; // the server keeps no more of one call
// Control and bidirectional characters could make one text look like another.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const NO_ERRORS = ["ok", "cancelled", "INPUT_REQUIRED"]; // outcomes that are nobody's failure
const SOURCES = ["live", "cache", "stale", "fallback"];
const STATES = ["open", "half_open", "closed"];
const STATUSES = ["down", "degraded", "unknown", "ok"];

/** Text of at most `most` characters; "" for what is none. */
function text(value, most = 160) {
  if (typeof value === "number" || typeof value === "boolean") value = String(value);
  if (typeof value !== "string") return "";
  const clean = value.slice(0, most + 1).replace(UNSEEN, "·");
  return clean.length > most ? clean.slice(0, most) + "…" : clean;
}

/** A number that arithmetic can bear, or null. */
function number(value) {
  return typeof value === "number" && Math.abs(value) <= LARGEST ? value : null;
}

/** A number that is not negative; 0 where there is none. */
function count(value) {
  return Math.max(0, number(value) ?? 0);
}

function list(value, most = MOST_ROWS) {
  return Array.isArray(value) ? value.slice(0, most).filter((each) => each !== null && each !== undefined) : [];
}

function record(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** [name, value] of a record, at most `most` of them. */
function entries(value, most = MOST_ROWS) {
  return Object.entries(record(value)).slice(0, most);
}

function oneOf(value, known, otherwise) {
  return known.includes(value) ? value : otherwise;
}

/** The last `most` of a list: of a history the newest stand last. */
function newest(value, most) {
  return Array.isArray(value) ? value.slice(-most) : [];
}

function readHello(raw) {
  const hello = record(raw), server = record(hello.server);
  return {
    version: text(server.version, 40), replica: text(server.replica, 60), worker: text(server.worker, 20),
    startedAt: number(server.started_at), auth: text(server.auth, 20),
    settings: entries(server.settings, 24).map(([name, value]) => [text(name, 40), text(value, 80)]),
    stages: list(hello.stages).map((name) => text(name, 40)),
    tools: list(hello.tools).map(record).map((tool) => ({
      name: text(tool.name, 64), timeout: number(tool.timeout_ms), fallback: text(tool.fallback, 64),
    })),
    budget: Math.min(600000, Math.max(1, number(hello.turn_budget_ms) ?? 3000)),
  };
}

function readTool(raw) {
  const tool = record(raw), from = record(tool.sources);
  const errors = entries(tool.errors).map(([name, n]) => ({ name: text(name, 40), count: count(n) }));
  return {
    name: text(tool.name, 64), calls: count(tool.calls),
    p50: number(tool.p50_ms), p95: number(tool.p95_ms), p99: number(tool.p99_ms),
    sources: Object.fromEntries(SOURCES.map((source) => [source, count(from[source])])),
    errors, failed: errors.reduce((sum, each) => sum + each.count, 0),
  };
}

function readBreaker(raw) {
  const breaker = record(raw);
  return {
    name: text(breaker.name, 40), state: oneOf(breaker.state, STATES, "closed"), since: number(breaker.since_s),
    fault: text(breaker.fault), retry: number(breaker.retry_after_ms), changes: count(breaker.changes),
  };
}

function readDependency(raw) {
  const each = record(raw);
  return {
    name: text(each.name, 40), status: oneOf(each.status, STATUSES, "unknown"),
    detail: text(each.detail, 300), advice: text(each.advice, 300),
  };
}

function readError(raw) {
  const error = record(raw);
  return {
    at: number(error.at), tool: text(error.tool, 64), name: text(error.name, 40), count: count(error.count),
    advice: text(error.advice, 300),
  };
}

function readPoint(raw) {
  const point = record(raw);
  return {
    at: number(point.at), p50: number(point.p50_ms), p99: number(point.p99_ms),
    perSecond: number(point.per_second), errors: count(point.errors),
  };
}

function readFlag(raw) {
  const flag = record(raw), share = number(flag.on_share);
  return {
    name: text(flag.name, 64), kind: text(flag.kind, 20), source: text(flag.source, 80),
    share: share === null ? null : Math.min(1, Math.max(0, share)),
  };
}

function readState(raw) {
  const state = record(raw), calls = record(state.calls), left = record(state.budget_left), sessions = record(state.sessions);
  return {
    at: number(state.at), draining: state.draining === true,
    perSecond: number(calls.per_second), underWay: number(calls.under_way), shed: number(calls.shed), total: number(calls.total),
    tools: list(state.tools).map(readTool),
    left: { p50: number(left.p50_ms), p5: number(left.p5_ms), p1: number(left.p1_ms), exhausted: count(left.exhausted), between: count(left.over_between), advice: text(left.advice, 300) },
    breakers: list(state.breakers).map(readBreaker),
    dependencies: list(state.dependencies).map(readDependency),
    sessions: number(sessions.active),
    streams: entries(sessions.streams, 8).map(([name, n]) => [text(name, 20), number(n)]),
    replicas: list(state.replicas).map(record).map((each) => ({
      name: text(each.name, 60), seen: number(each.seen_s_ago), self: each.self === true,
    })),
    flags: list(state.flags).map(readFlag),
    errors: list(state.errors, 20).map(readError),
    history: newest(state.latency_history, MOST_POINTS).map(readPoint),
  };
}

function readInterval(raw, index) {
  const interval = record(raw), from = count(interval.from_ms), parent = interval.parent;
  return {
    name: text(interval.name, 60), kind: oneOf(interval.kind, ["stage", "attempt", "redis", "work"], "work"),
    from, took: count(interval.ms), outcome: text(interval.outcome, 60) || "ok",
    // A parent begins before its child: whatever else is said could be a circle.
    parent: Number.isInteger(parent) && parent >= 0 && parent < index ? parent : null,
    detail: entries(interval.detail, 8).map(([name, value]) => [text(name, 30), text(value, 60)]),
  };
}

function readCall(raw) {
  const call = record(raw), source = SOURCES.includes(call.source) ? call.source : null;
  const outcome = text(call.outcome, 40) || "ok", took = count(call.ms);
  return {
    id: text(call.call_id, 64), turn: text(call.turn, 32) || "no turn", session: text(call.session, 32), user: text(call.user, 32),
    tool: text(call.tool, 64) || "unnamed", transport: text(call.transport, 20), at: number(call.at),
    into: number(call.started_ms_into_turn), took, budget: number(call.turn_budget_ms), left: number(call.left_ms),
    outcome, source: NO_ERRORS.includes(outcome) ? source : "error", fallback: text(call.fallback, 64),
    degraded: list(call.degraded, 8).map((each) => text(each, 40)), empty: call.empty === true, more: count(call.more_intervals),
    intervals: list(call.intervals, MOST_INTERVALS).map(record).map(readInterval),
  };
}
