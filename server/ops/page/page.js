"use strict";
// Where the parts meet. Events only change what is kept; elements are changed once a frame, and the list of turns at most twice a
// second, which is as often as anybody can read it.

const LIST_MS = 500;
const HIDDEN_MS = 60000;
const THEMES = ["system", "dark", "light"];
const LAMPS = { good: "#2e9e67", warn: "#d99a1c", bad: "#d9363e", unknown: "#8a929c" };
const LINK_WORDS = { connecting: "Connecting…", live: "Live", asleep: "Asleep: nobody looked for a minute" };

const page = { hello: readHello(null), state: null, recent: new Recent(), turns: new Turns(), heard: 0, lost: 0, link: "connecting", why: "", dirty: false, asked: false, listed: 0 };

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
    showLamp(verdict.level);
    showFigures(page.state, page.recent);
    showPanels(page.state);
  }
  page.dirty = false;
  showLink();
  showTurns(now);
}

function showTurns(now) {
  const rest = LIST_MS - (now - page.listed);
  if (page.listed && rest > 0 && !turnList.forced) {
    clearTimeout(page.later);
    page.later = setTimeout(changed, rest);
    return;
  }
  page.listed = now;
  turnList.budget = page.hello.budget;
  turnList.show();
}

function showLink() {
  const old = page.heard ? Math.round((performance.now() - page.heard) / 1000) : null;
  const lost = page.lost ? clockTime(page.lost / 1000) : "";
  const waiting = `Reconnecting since ${lost}: ${page.why}`;
  setAttribute(byId("link"), "data-state", page.link);
  setText(byId("link"), page.link === "connecting" && page.lost ? waiting : LINK_WORDS[page.link] ?? waiting);
  const stale = page.link !== "live" && page.state;
  setAttribute(document.documentElement, "data-old", stale ? "yes" : null);
  const at = page.state ? clockTime(page.state.at) : "";
  setText(byId("asof"), stale ? `These figures are ${span(old)} old, of ${at}` : at && `as of ${at}`);
  if (!page.state && page.lost) setText(byId("verdict-head"), "The server cannot be reached.");
}

function showLamp(level) {
  const icon = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${encodeURIComponent(LAMPS[level])}'/></svg>`;
  setAttribute(byId("icon"), "href", icon);
}

function heard(name, value) {
  page.heard = performance.now();
  if (page.link !== "live") linked("live", "");
  if (name === "hello") {
    page.hello = readHello(value);
    showHello(page.hello);
  } else if (name === "state") {
    page.state = readState(value);
    page.recent.stated(page.state);
  } else if (name === "call") {
    const call = readCall(value);
    page.turns.add(call);
    page.recent.called(call);
  }
  page.dirty = true;
  changed();
}

function linked(link, why) {
  if (link === "live") page.lost = 0;
  else if (link === "waiting" && !page.lost) page.lost = Date.now();
  page.why = why || page.why;
  page.link = link;
  if (link === "waiting") setText(byId("announced"), `The connection is lost: ${why}.`);
  changed();
}

function watchTab(stream) {
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stream.sleep(), HIDDEN_MS);
    else stream.wake();
  };
  document.addEventListener("visibilitychange", look);
  look();
}

function beginThemes() {
  const button = byId("theme");
  const show = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    setText(button, `Theme: ${theme}`);
  };
  let theme = "system";
  try { theme = oneOf(localStorage.getItem("manga-ops-theme"), THEMES, "system"); } catch { /* a browser that keeps nothing */ }
  show(theme);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    show(theme);
    try { localStorage.setItem("manga-ops-theme", theme); } catch { /* as above */ }
  });
}

function beginTips() {
  const tip = byId("tip"), turns = byId("turns");
  turns.addEventListener("pointermove", (event) => {
    const words = event.target.dataset?.tip;
    setHidden(tip, !words);
    if (!words) return;
    setText(tip, words);
    const left = event.clientX > innerWidth - 260 ? event.clientX - 250 : event.clientX + 14;
    tip.style.transform = `translate(${left}px, ${event.clientY > innerHeight - 120 ? event.clientY - 90 : event.clientY + 16}px)`;
  });
  turns.addEventListener("pointerleave", () => setHidden(tip, true));
}

const turnList = new TurnList(page.turns, changed);
beginThemes();
beginTips();
legend(byId("ladder-legend"), [["live", "live"], ["cache", "cache"], ["stale", "stale"], ["fallback", "fallback"], ["error", "error"]]);
legend(byId("turns-legend"), [["stage", "stages"], ["attempt", "attempt at a backend"], ["redis", "Redis"], ["work", "processor"], ["bad", "failed or cut off"], ["waiting", "waiting for a place"]]);
const stream = new Stream("/ops/events", heard, linked);
stream.open();
watchTab(stream);
setInterval(() => { if (page.link !== "live") changed(); }, 1000);
