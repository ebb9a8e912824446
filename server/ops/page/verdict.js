"use strict";
// One sentence that says whether customers suffer, and a few that say why. Pure: from a state, and what was seen lately.

const MOST_CAUSES = 5;
const FAILING_SHARE = 0.01; // of the calls that failed by our doing: from here on customers notice
const ORDER = { bad: 0, warn: 1, good: 2 };

/** {level, head, causes: [{level, words}], announced}: `announced` has no numbers, so that it changes only when something has. */
function judge(hello, state, recent) {
  const lately = recent.counted(state.at ?? 0);
  const seen = lately.length ? lately : countedInState(state);
  const when = lately.length ? `seen in the last ${NOW_SECONDS} s` : "of the last 5 minutes";
  const calls = total(seen), failed = total(seen.filter(isOurFailure));
  const causes = [
    ...failing(seen, state), ...failingAtTimes(seen, state), ...refusals(recent), ...slowness(hello, state), ...breakerCauses(state),
    ...rungs(seen), ...dependencyCauses(state), ...tightness(state),
  ];
  causes.sort((one, other) => ORDER[one.level] - ORDER[other.level]);
  const level = state.draining ? "warn" : causes.length ? causes[0].level : "good";
  const idle = !lately.length && !state.perSecond;
  const main = mainSentence({ state, level, idle, calls, failed, when });
  const away = state.breakers.filter(isAway).map((each) => each.name);
  const announced = main.stable + (away.length ? ` Away: ${together(away)}.` : "");
  return { level, head: main.head, causes: causes.slice(0, MOST_CAUSES), announced, short: main.short };
}

function total(counted) {
  return counted.reduce((sum, each) => sum + each.count, 0);
}

function isOurFailure(each) {
  return each.source === "error" && OURS.has(each.what);
}

function mainSentence({ state, level, idle, calls, failed, when }) {
  if (state.draining) {
    return said("Draining", "The server is draining: it finishes what it has and takes no new calls.");
  }
  if (failed / Math.max(1, calls) >= FAILING_SHARE) {
    return said("Errors", `Customers get errors: ${percent(failed / calls)} of the calls ${when} failed.`, "Customers get errors.");
  }
  if (level === "bad") return said("Suffering", failed || lateErrors(state).length ? "Some customers get errors." : "Customers suffer.");
  const away = state.breakers.filter(isAway);
  if (away.length) {
    const names = together(away.map((each) => each.name)), since = away.length === 1 ? ` for ${span(away[0].since)}` : "";
    const stable = idle ? "Nobody is asking." : "Customers are served, with less than usual.";
    return said("Degraded", `${idle ? "Nobody is asking, and" : "Customers are served, but"} ${names} ${away.length === 1 ? "has" : "have"} been away${since}.`, stable);
  }
  if (level === "warn") return said("Degraded", idle ? "Nobody is asking, and not all is well." : "Customers are served, with less than usual.");
  return idle ? said("Idle", "All is well; nobody is asking.") : said("Served", "Customers are served.");
}

function said(short, head, stable = head) {
  return { short, head, stable };
}

function failing(seen, state) {
  return byTool(seen, isOurFailure).map(({ tool, count: n, of, whats }) => {
    const known = state.errors.find((error) => error.tool === tool && whats.includes(error.name) && error.advice);
    const words = `${tool} fails: ${percent(n / of)} of ${plural(of, "call")} seen, ${together(whats)}.`;
    return { level: n / of >= FAILING_SHARE ? "bad" : "warn", words: known ? `${words} ${inShort(known.advice)}` : words };
  });
}

/** Of many calls a page sees some. What failed among the others is in the state's counts, which have all of them. */
function failingAtTimes(seen, state) {
  const told = new Set(seen.filter(isOurFailure).map((each) => each.tool));
  return lateErrors(state).filter((error) => !told.has(error.tool)).slice(0, 3).map((error) => {
    const tool = state.tools.find((each) => each.name === error.tool);
    const n = tool?.errors.find((each) => each.name === error.name)?.count ?? error.count, of = Math.max(n, tool?.calls ?? 0, 1);
    return { level: n / of >= FAILING_SHARE ? "bad" : "warn", words: `${error.tool} fails at times: ${error.name}, ${figure(n)} of ${plural(of, "call")} in 5 minutes. ${inShort(error.advice)}` };
  });
}

/** Our failures of just now. */
function lateErrors(state) {
  return state.errors.filter((each) => OURS.has(each.name) && each.at !== null && each.at > (state.at ?? 0) - NOW_SECONDS);
}

function refusals(recent) {
  const n = recent.refused();
  return n ? [{ level: "bad", words: `${plural(n, "call")} refused because too many are under way, in ${NOW_SECONDS} s.` }] : [];
}

function slowness(hello, state) {
  const last = state.history[state.history.length - 1];
  if (!last || last.p99 === null || last.p99 <= hello.budget) return [];
  return [{ level: "bad", words: `One call in 100 takes ${duration(last.p99)}, more than a turn has (${duration(hello.budget)}).` }];
}

/** Each breaker that is not closed, with what the doctor says of the same backend. */
function breakerCauses(state) {
  return state.breakers.filter(isAway).map((each) => {
    const fault = each.fault.replace(/^[A-Z_]+, /, ""), again = each.state === "half_open" ? "is being tried again" : `is asked again in ${duration(each.retry)}`;
    const doctor = state.dependencies.find((one) => one.name === each.name && isIll(one));
    const [detail, advice] = doctor ? [doctor.detail === fault ? "" : doctor.detail, doctor.advice] : ["", ""];
    const words = [`${each.name} has been away for ${span(each.since)}, and ${again}.`, ...[fault, detail].map(sentence), firstSentence(advice)];
    return { level: "warn", words: words.filter(Boolean).join(" ") };
  });
}

function isAway(breaker) {
  return breaker.state !== "closed";
}

function isIll(dependency) {
  return dependency.status === "down" || dependency.status === "degraded";
}

function rungs(seen) {
  const lower = (each) => each.source === "fallback" || each.source === "stale";
  return byTool(seen, lower).map(({ tool, count: n, of, whats, sources }) => {
    const from = together([...whats, ...(sources.includes("stale") ? ["stale copies"] : [])]) || "its fallback";
    return { level: "warn", words: `${tool} answers from ${from}: ${percent(n / of)} of ${plural(of, "call")} seen.` };
  });
}

function dependencyCauses(state) {
  const told = new Set(state.breakers.filter(isAway).map((each) => each.name));
  return state.dependencies.filter((each) => isIll(each) && !told.has(each.name)).map((each) => {
    const advice = each.advice ? ` ${inShort(each.advice)}` : "";
    return { level: "warn", words: `${each.name} is ${each.status}${each.detail ? `: ${each.detail}` : ""}.${advice}` };
  });
}

function tightness(state) {
  if (state.left.between) return [{ level: "warn", words: `${plural(state.left.between, "call")} in 5 minutes began when the turn was over. ${state.left.advice}` }];
  if (state.left.p1 === null || state.left.p1 >= 100) return [];
  return [{ level: "warn", words: `Turns run out of time: one in 100 has ${duration(state.left.p1)} or less left; ${plural(state.left.exhausted, "turn")} had none.` }];
}

/** Of the tools that have such an answer: how many of how many, and what they were called. The most of them first. */
function byTool(seen, such) {
  const found = new Map();
  for (const each of seen.filter(such)) {
    const one = found.get(each.tool) ?? { tool: each.tool, count: 0, whats: [], sources: [] };
    one.count += each.count;
    if (each.what && !one.whats.includes(each.what)) one.whats.push(each.what);
    if (!one.sources.includes(each.source)) one.sources.push(each.source);
    found.set(each.tool, one);
  }
  const all = [...found.values()].map((one) => ({ ...one, of: total(seen.filter((each) => each.tool === one.tool)) }));
  return all.sort((one, other) => other.count - one.count).slice(0, 3);
}

/** The rest of an advice stands in the panel of errors or of dependencies. */
function firstSentence(advice) {
  return sentence(advice.split(/(?<=[.!?]) /)[0]);
}

/** The same, and where its runbook is. */
function inShort(advice) {
  const first = firstSentence(advice), book = /\S+\.md#\S+/.exec(advice);
  return first + (book && !first.includes(book[0]) ? ` (${book[0]})` : "");
}

function sentence(words) {
  const whole = capitalised(words.trim());
  return !whole || /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

function showVerdict(verdict) {
  document.documentElement.dataset.level = verdict.level;
  setText(byId("verdict-head"), verdict.head);
  keepChildren(byId("causes"), verdict.causes, () => element("li"), (node, cause) => {
    setAttribute(node, "data-level", cause.level);
    setText(node, cause.words);
  });
  setText(byId("announced"), verdict.announced);
  const title = `${verdict.short} · manga-tools`;
  if (document.title !== title) document.title = title;
}
