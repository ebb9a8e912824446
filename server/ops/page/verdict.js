"use strict";
// One sentence that says whether customers suffer, and a few that say why, from a state and the calls of the last half minute.

const NOW_SECONDS = 30;
const FAILING_SHARE = 0.01; // of the calls that failed on our side: from here on customers notice
// Failures on our side, as HTTP would answer them with 5xx.
const OURS = new Set(["TIMEOUT", "DEPENDENCY_FAILURE", "CIRCUIT_OPEN", "BUDGET_EXHAUSTED", "INTERNAL_ERROR", "SERVER_BUSY"]);
const ORDER = { bad: 0, warn: 1, good: 2 };

/** The last minute, by the server's clock: a tally of calls a second, and how many were shed by then. */
class Recent {
  constructor() {
    this.seconds = new Map(); // whole epoch second → Map of "tool\nsource\nwhat" → how many
    this.sheds = []; // [at, shed], one a second
  }

  addCall(call) {
    if (call.at === null) return;
    const second = Math.floor(call.at), tally = this.seconds.get(second) ?? new Map();
    this.seconds.set(second, tally);
    while (this.seconds.size > 60) this.seconds.delete(this.seconds.keys().next().value);
    const what = call.source === "error" ? call.outcome : call.source === "fallback" ? call.fallback : "";
    const key = [call.tool, call.source ?? "live", what].join("\n");
    if (tally.size < 256 || tally.has(key)) tally.set(key, (tally.get(key) ?? 0) + 1);
  }

  addState(state) {
    this.sheds.push([state.at ?? 0, state.calls.shed ?? 0]);
    if (this.sheds.length > 60) this.sheds.shift();
  }

  /** The calls of the last `NOW_SECONDS`: {tool, source, what, count} each. */
  counted(now) {
    const recent = [...this.seconds].filter(([second]) => second > now - NOW_SECONDS && second <= now + 1);
    return recent.flatMap(([, tally]) => [...tally].map(([key, n]) => [...key.split("\n"), n])).map(([tool, source, what, n]) => ({ tool, source, what, count: n }));
  }

  shed(now) {
    const recent = this.sheds.filter(([at]) => at > now - NOW_SECONDS);
    return recent.length ? Math.max(0, recent[recent.length - 1][1] - recent[0][1]) : 0;
  }
}

/** The calls of a state's five minutes, until the page has seen one itself. */
function countedInState(state) {
  return state.tools.flatMap((tool) => [
    ...SOURCES.map((source) => ({ tool: tool.name, source, what: "", count: tool.sources[source] })),
    ...tool.errors.map(([what, n]) => ({ tool: tool.name, source: "error", what, count: n })),
  ]).filter((each) => each.count > 0);
}

/** {level, head, short, causes: [{level, words}], announced}: `announced` has no numbers, so that it changes only with the matter. */
function judge(hello, state, recent) {
  const now = state.at ?? 0, lately = recent.counted(now), seen = lately.length ? lately : countedInState(state);
  const calls = total(seen), failed = total(seen.filter(isOurs)), idle = !lately.length && !state.calls.per_second;
  const away = state.breakers.filter(isAway).map((each) => each.name);
  const causes = [...failing(seen, state), ...rungs(seen), ...wholeServer(hello, state, recent), ...backends(state)].sort((one, other) => ORDER[one.level] - ORDER[other.level]);
  const level = state.draining ? "warn" : causes[0]?.level ?? "good";
  const say = (short, head, stable = head) => ({ level, short, head, causes: causes.slice(0, 5), announced: stable + (away.length ? ` Away: ${together(away)}.` : "") });
  if (state.draining) return say("Draining", "The server is draining: it finishes what it has and takes no new calls.");
  if (failed / Math.max(1, calls) >= FAILING_SHARE) {
    const when = lately.length ? `seen in the last ${NOW_SECONDS} s` : "of the last 5 minutes";
    return say("Errors", `Customers get errors: ${percent(failed / calls)} of the calls ${when} failed.`, "Customers get errors.");
  }
  if (level === "bad") return say("Suffering", failed ? "Some customers get errors." : "Customers suffer.");
  const less = idle ? "Nobody is asking, and not all is well." : "Customers are served, with less than usual.";
  if (away.length) {
    const since = away.length === 1 ? ` for ${span(state.breakers.find(isAway).since_s)}` : "";
    return say("Degraded", `${idle ? "Nobody is asking, and" : "Customers are served, but"} ${together(away)} ${away.length === 1 ? "has" : "have"} been away${since}.`, less);
  }
  if (level === "warn") return say("Degraded", less);
  return idle ? say("Idle", "All is well; nobody is asking.") : say("Served", "Customers are served.");
}

function total(counted) {
  return counted.reduce((sum, each) => sum + each.count, 0);
}

const isOurs = (each) => each.source === "error" && OURS.has(each.what);
const isAway = (breaker) => breaker.state !== "closed";
const isIll = (dependency) => dependency.status === "down" || dependency.status === "degraded";

/** Tools that fail, among the calls seen; and those that fail among the others, by the state's counts. */
function failing(seen, state) {
  const found = byTool(seen, isOurs), now = state.at ?? 0;
  const late = state.errors.filter((each) => OURS.has(each.name) && each.at !== null && each.at > now - NOW_SECONDS && !found.some((one) => one.tool === each.tool));
  return [
    ...found.map(({ tool, count: n, of, whats }) => {
      const known = state.errors.find((error) => error.tool === tool && whats.includes(error.name));
      return cause(n / of, `${tool} fails: ${percent(n / of)} of ${plural(of, "call")} seen, ${together(whats)}. ${inShort(known?.advice ?? "")}`);
    }),
    ...late.slice(0, 3).map((error) => {
      const tool = state.tools.find((each) => each.name === error.tool), n = tool?.errors.find(([name]) => name === error.name)?.[1] ?? error.count;
      const of = Math.max(n, tool?.calls ?? 0, 1);
      return cause(n / of, `${error.tool} fails at times: ${error.name}, ${figure(n)} of ${plural(of, "call")} in 5 minutes. ${inShort(error.advice)}`);
    }),
  ];
}

function cause(failedShare, words) {
  return { level: failedShare >= FAILING_SHARE ? "bad" : "warn", words: words.trim() };
}

function rungs(seen) {
  return byTool(seen, (each) => each.source === "fallback" || each.source === "stale").map(({ tool, count: n, of, whats, sources }) => {
    const from = together([...whats, ...(sources.includes("stale") ? ["stale copies"] : [])]) || "its fallback";
    return { level: "warn", words: `${tool} answers from ${from}: ${percent(n / of)} of ${plural(of, "call")} seen.` };
  });
}

function wholeServer(hello, state, recent) {
  const shed = recent.shed(state.at ?? 0), p99 = state.latency_history.at(-1)?.p99_ms ?? 0, left = state.budget_left, causes = [];
  if (shed) causes.push({ level: "bad", words: `${plural(shed, "call")} shed in ${NOW_SECONDS} s: too many in flight.` });
  if (p99 > hello.turn_budget_ms) causes.push({ level: "bad", words: `p99 is ${duration(p99)}, more than a turn's budget (${duration(hello.turn_budget_ms)}).` });
  if (left.over_between) causes.push({ level: "warn", words: `${plural(left.over_between, "call")} in 5 minutes began when the turn was over. ${left.advice}` });
  else if (left.p1_ms !== null && left.p1_ms < 100) causes.push({ level: "warn", words: `Turns run out of time: one in 100 has ${duration(left.p1_ms)} or less left; ${plural(left.exhausted, "turn")} had none.` });
  return causes;
}

/** Each breaker that is not closed with what the doctor says of its backend, and each other dependency that is not well. */
function backends(state) {
  const breakers = state.breakers.filter(isAway).map((each) => {
    const fault = each.fault.replace(/^[A-Z_]+, /, ""), again = each.state === "half_open" ? "is being tried again" : `is asked again in ${duration(each.retry_after_ms)}`;
    const doctor = state.dependencies.find((one) => one.name === each.name && isIll(one));
    const words = [`${each.name} has been away for ${span(each.since_s)}, and ${again}.`, sentence(fault), doctor && doctor.detail !== fault ? sentence(doctor.detail) : "", firstSentence(doctor?.advice ?? "")];
    return { level: "warn", words: words.filter(Boolean).join(" ") };
  });
  const others = state.dependencies.filter((each) => isIll(each) && !state.breakers.some((one) => isAway(one) && one.name === each.name));
  return [...breakers, ...others.map((each) => ({ level: "warn", words: `${each.name} is ${each.status}${each.detail ? `: ${each.detail}` : ""}. ${inShort(each.advice)}`.trim() }))];
}

/** Of the three tools with the most such answers: how many of how many, and what they were called. */
function byTool(seen, isSuch) {
  const found = Map.groupBy(seen.filter(isSuch), (each) => each.tool);
  const all = [...found].map(([tool, some]) => ({
    tool, count: total(some), of: total(seen.filter((each) => each.tool === tool)),
    whats: [...new Set(some.map((each) => each.what).filter(Boolean))], sources: [...new Set(some.map((each) => each.source))],
  }));
  return all.sort((one, other) => other.count - one.count).slice(0, 3);
}

function firstSentence(advice) {
  return sentence(advice.split(/(?<=[.!?]) /)[0]);
}

/** The first sentence, and the runbook's address. */
function inShort(advice) {
  const first = firstSentence(advice), book = /\S+\.md#\S+/.exec(advice);
  return first + (book && !first.includes(book[0]) ? ` (${book[0]})` : "");
}

function showVerdict(verdict) {
  document.documentElement.dataset.level = verdict.level;
  setText(byId("verdict-head"), verdict.head);
  patch(byId("causes"), verdict.causes.map((each) => element("li", { "data-level": each.level }, each.words)));
  setText(byId("announced"), verdict.announced);
  if (document.title !== `${verdict.short} · manga-tools`) document.title = `${verdict.short} · manga-tools`;
}
