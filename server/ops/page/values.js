"use strict";
// Events made into values of a known shape, and values into words. A page that somebody needs at night must not break on a missing
// field, an endless number or a hostile text: nothing further in looks at raw JSON. Names are those of the wire.

// Control and bidirectional characters could make one text look like another.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const NO_ERRORS = ["ok", "cancelled", "INPUT_REQUIRED"];
const SOURCES = ["live", "cache", "stale", "fallback"];
const STATES = ["open", "half_open", "closed"];
const STATUSES = ["down", "degraded", "unknown", "ok"];
const KINDS = ["stage", "attempt", "redis", "work"];

const text = (most = 64) => (value) => {
  const clean = ["string", "number", "boolean"].includes(typeof value) ? String(value).slice(0, most + 1).replace(UNSEEN, "·") : "";
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
};
const number = (value) => (typeof value === "number" && Math.abs(value) <= 1e13 ? value : null);
const count = (value) => Math.max(0, number(value) ?? 0);
const flag = (value) => value === true;
const oneOf = (known, otherwise) => (value) => (known.includes(value) ? value : otherwise);
const record = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
const listOf = (read, most = 64) => (value) => (Array.isArray(value) ? value.slice(0, most).filter((each) => each !== null && each !== undefined).map(read) : []);
const shape = (fields) => (value) => {
  const found = record(value);
  return Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, read(found[name])]));
};
const pairs = (read, most = 24) => (value) => Object.entries(record(value)).slice(0, most).map(([name, each]) => [text()(name), read(each)]);

const readHello = shape({
  server: shape({ version: text(), replica: text(), worker: text(), started_at: number, auth: text(), settings: pairs(text(80)) }),
  tools: listOf(shape({ name: text() })),
  turn_budget_ms: (value) => Math.min(600000, Math.max(1, number(value) ?? 3000)),
});
const readPoint = shape({ p50_ms: number, p99_ms: number, per_second: number, errors: count });
const readState = shape({
  at: number, draining: flag,
  calls: shape({ per_second: number, under_way: number, shed: number, total: number }),
  tools: listOf(shape({ name: text(), calls: count, p50_ms: number, p95_ms: number, p99_ms: number, sources: shape({ live: count, cache: count, stale: count, fallback: count }), errors: pairs(count, 64) })),
  budget_left: shape({ p50_ms: number, p1_ms: number, exhausted: count, over_between: count, advice: text(300) }),
  breakers: listOf(shape({ name: text(40), state: oneOf(STATES, "closed"), since_s: number, fault: text(160), retry_after_ms: number, changes: count })),
  dependencies: listOf(shape({ name: text(40), status: oneOf(STATUSES, "unknown"), detail: text(300), advice: text(300) })),
  sessions: shape({ active: number, streams: pairs(number, 8) }),
  replicas: listOf(shape({ name: text(), seen_s_ago: number, self: flag })),
  flags: listOf(shape({ name: text(), kind: text(20), source: text(80), on_share: number })),
  errors: listOf(shape({ at: number, tool: text(), name: text(40), count, advice: text(300) }), 20),
  latency_history: (value) => listOf(readPoint)(Array.isArray(value) ? value.slice(-60) : []),
});
const readInterval = shape({ name: text(), kind: oneOf(KINDS, "work"), from_ms: count, ms: count, outcome: (value) => text()(value) || "ok", parent: number, detail: pairs(text(), 8) });
const readRawCall = shape({
  call_id: text(), turn: text(32), session: text(32), user: text(32), tool: (value) => text()(value) || "unnamed", transport: text(20), at: number, ms: count,
  started_ms_into_turn: number, turn_budget_ms: number, left_ms: number, outcome: (value) => text(40)(value) || "ok", source: oneOf(SOURCES, null),
  fallback: text(), degraded: listOf(text(40), 8), empty: flag, more_intervals: count, intervals: listOf(readInterval, 128),
});

/** A call with the source "error" where it failed; a parent that does not begin before its child is dropped: it could be a circle. */
function readCall(raw) {
  const call = readRawCall(raw);
  call.intervals.forEach((each, index) => { if (!Number.isInteger(each.parent) || each.parent < 0 || each.parent >= index) each.parent = null; });
  return { ...call, source: NO_ERRORS.includes(call.outcome) ? call.source : "error" };
}

const NOTHING = "–";
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 7, 1,234, 1.2M. */
function figure(value) {
  if (value === null || value === undefined) return NOTHING;
  if (Math.abs(value) >= 100000) return SHORT.format(value);
  return Math.abs(value) < 10 && value % 1 !== 0 ? value.toFixed(1) : WHOLE.format(value);
}

/** Milliseconds as 4.3 ms, 412 ms, 1.24 s. */
function duration(ms) {
  if (ms === null || ms === undefined) return NOTHING;
  if (Math.abs(ms) >= 999.5) return ms < 100000 ? `${(ms / 1000).toFixed(2)} s` : span(ms / 1000);
  return `${Math.abs(ms) < 9.95 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** Seconds as 14 s, 3 min 20 s, 5 h 12 min, 3 d. */
function span(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${figure(Math.floor(s / 86400))} d`;
}

function percent(share) {
  if (share === null || !Number.isFinite(share)) return NOTHING;
  const hundredths = share * 100;
  return `${hundredths > 0 && hundredths < 9.95 ? Number(hundredths.toFixed(1)) : Math.round(hundredths)} %`;
}

function clockTime(epoch) {
  return epoch === null || Math.abs(epoch) > 8e12 ? NOTHING : new Date(epoch * 1000).toLocaleTimeString("en-GB");
}

function plural(n, one, many = `${one}s`) {
  return `${figure(n)} ${n === 1 ? one : many}`;
}

/** a, b and c; of more than three it says how many there are. */
function together(words) {
  const shown = words.length > 3 ? [...words.slice(0, 2), `${words.length - 2} more`] : words;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
}

function sentence(words) {
  const whole = words.trim().charAt(0).toUpperCase() + words.trim().slice(1);
  return !whole || /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}
