"use strict";
// The stream of events, and where the parts meet. Events only change the kept state; elements change once a frame, and the list
// of turns at most twice a second, which is as often as anybody can read it.

const SILENT_MS = 6000; // a state comes each second
const WAITS_MS = [1000, 2000, 4000, 8000, 15000];
const REFUSALS = { 401: "the server asks for a token", 403: "this token may not see this page", 404: "the page was switched off", 503: "too many of these pages are open, or the server is stopping" };
const LINK_WORDS = { connecting: "Connecting…", live: "Live", asleep: "Asleep: nobody looked for a minute" };
const LAMPS = { good: "#2e9e67", warn: "#d99a1c", bad: "#d9363e" };

/** Server-sent events (HTML standard §9.2.6) read by fetch: unlike EventSource it tells why it was refused, and a connection over
 * which nothing comes is given up. `onLink(state, why)`: connecting, live, waiting or asleep. */
class Stream {
  constructor(onEvent, onLink) {
    Object.assign(this, { onEvent, onLink, failures: 0, current: null, timer: 0, asleep: false });
  }

  open() {
    if (this.current) return;
    clearTimeout(this.timer);
    const own = (this.current = new AbortController());
    this.onLink("connecting", "");
    this.follow(own).then(() => "the server ended the stream", (error) => error.message).then((why) => {
      clearTimeout(own.silence);
      own.abort();
      if (this.current !== own) return; // put to sleep
      this.current = null;
      this.onLink("waiting", own.why ?? why);
      const wait = WAITS_MS[Math.min(this.failures++, WAITS_MS.length - 1)] * (0.8 + 0.4 * Math.random());
      this.timer = setTimeout(() => this.open(), wait);
    });
  }

  /** Ends the stream until `wake`: a page that nobody sees costs the server nothing. */
  sleep() {
    clearTimeout(this.timer);
    this.asleep = true;
    const own = this.current;
    this.current = null;
    own?.abort();
    this.onLink("asleep", "");
  }

  wake() {
    if (!this.asleep) return;
    this.asleep = false;
    this.failures = 0;
    this.open();
  }

  async follow(own) {
    const listen = () => {
      clearTimeout(own.silence);
      own.silence = setTimeout(() => { own.why = `nothing came for ${SILENT_MS / 1000} s`; own.abort(); }, SILENT_MS);
    };
    listen();
    const response = await fetch("/ops/events", { headers: { accept: "text/event-stream" }, cache: "no-store", signal: own.signal }).catch(() => null);
    if (!response) throw new Error("the server does not answer");
    if (!response.ok || !response.body) throw new Error(REFUSALS[response.status] ?? `the server answers ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { done, value } = await reader.read().catch(() => { throw new Error("the connection broke"); });
      if (done) return;
      listen();
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      if (rest.length > 1 << 20) throw new Error("an event has no end");
      blocks.forEach((block) => this.dispatch(block));
    }
  }

  dispatch(block) {
    const name = /^event: ?(.*)$/m.exec(block)?.[1], data = [...block.matchAll(/^data: ?(.*)$/gm)].map((found) => found[1]).join("\n");
    let value;
    try { value = JSON.parse(data); } catch { return; } // half an event says nothing
    this.failures = 0;
    this.onEvent(name, value);
  }
}

const page = { hello: readHello(null), state: null, recent: new Recent(), heardAt: 0, lostAt: 0, link: "connecting", why: "", dirty: false, asked: false, listedAt: 0 };
const turnList = new TurnList(changed);

function changed() {
  if (page.asked) return;
  page.asked = true;
  requestAnimationFrame(frame);
}

function frame(now) {
  page.asked = false;
  if (page.dirty && page.state) {
    const verdict = judge(page.hello, page.state, page.recent);
    showVerdict(verdict);
    const icon = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${LAMPS[verdict.level]}'/></svg>`;
    setAttribute(byId("icon"), "href", `data:image/svg+xml,${encodeURIComponent(icon)}`);
    showPanels(page.state, page.recent);
  }
  page.dirty = false;
  showLink();
  const rest = 500 - (now - page.listedAt);
  if (page.listedAt && rest > 0 && !turnList.forced) {
    clearTimeout(page.later);
    page.later = setTimeout(changed, rest);
    return;
  }
  page.listedAt = now;
  turnList.budget = page.hello.turn_budget_ms;
  turnList.show();
}

function showLink() {
  const waiting = `Reconnecting since ${clockTime(page.lostAt / 1000)}: ${page.why}`, old = Math.round((performance.now() - page.heardAt) / 1000);
  setAttribute(byId("link"), "data-state", page.link);
  setText(byId("link"), page.link === "connecting" && page.lostAt ? waiting : LINK_WORDS[page.link] ?? waiting);
  const stale = page.link !== "live" && page.state, at = page.state ? clockTime(page.state.at) : "";
  setAttribute(document.documentElement, "data-old", stale ? "yes" : null);
  setText(byId("asof"), stale ? `These figures are ${span(old)} old, of ${at}` : at && `as of ${at}`);
  if (!page.state && page.lostAt) setText(byId("verdict-head"), "The server cannot be reached.");
}

function onEvent(name, value) {
  page.heardAt = performance.now();
  if (page.link !== "live") onLink("live", "");
  if (name === "hello") showHello((page.hello = readHello(value)));
  else if (name === "state") page.recent.addState((page.state = readState(value)));
  else if (name === "call") {
    const call = readCall(value);
    turnList.add(call);
    page.recent.addCall(call);
  }
  page.dirty = true;
  changed();
}

function onLink(link, why) {
  if (link === "live") page.lostAt = 0;
  else if (link === "waiting" && !page.lostAt) page.lostAt = Date.now();
  page.why = why || page.why;
  page.link = link;
  if (link === "waiting") setText(byId("announced"), `The connection is lost: ${why}.`);
  changed();
}

legend(byId("ladder-legend"), [...SOURCES, "error"].map((kind) => [kind, kind]));
legend(byId("turns-legend"), [["stage", "stages"], ["attempt", "attempt at a backend"], ["redis", "Redis"], ["work", "processor"], ["bad", "failed or cut off"]]);
const stream = new Stream(onEvent, onLink);
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => stream.sleep(), 60000);
  else stream.wake();
});
stream.open();
setInterval(() => { if (page.link !== "live") changed(); }, 1000);
