"use strict";
// The turns on the page. A turn that is shown is only added to; the list stands still while somebody points at it, moves through
// it or has a call open, so that nothing slips away under a hand.

class TurnList {
  constructor(turns, changed) {
    this.turns = turns;
    this.changed = changed;
    this.views = new Map(); // a turn's key → what shows it
    this.paused = false;
    this.seen = 0; // calls that had arrived when the list was last brought up to date
    this.hovered = false;
    this.budget = 3000;
    this.filter = { tool: "", source: "", trouble: false };
    this.node = byId("turns");
    this.listen();
  }

  listen() {
    this.node.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") this.hover(true); });
    this.node.addEventListener("pointerleave", () => this.hover(false));
    this.node.addEventListener("focusout", () => this.changed());
    this.node.addEventListener("click", (event) => this.clicked(event.target));
    this.node.addEventListener("keydown", (event) => this.pressed(event));
    byId("pause").addEventListener("click", () => { this.paused = !this.paused; this.changed(); });
    byId("by-tool").addEventListener("change", (event) => this.choose({ tool: event.target.value }));
    byId("by-source").addEventListener("change", (event) => this.choose({ source: event.target.value }));
    byId("by-trouble").addEventListener("change", (event) => this.choose({ trouble: event.target.checked }));
  }

  hover(is) {
    this.hovered = is;
    this.changed();
  }

  choose(some) {
    this.filter = { ...this.filter, ...some };
    this.forced = true;
    this.changed();
  }

  wanted(call) {
    const { tool, source, trouble } = this.filter;
    return (!tool || call.tool === tool) && (!source || call.source === source) && (!trouble || isTrouble(call));
  }

  held() {
    if (this.paused) return "paused";
    return this.hovered || this.node.querySelector(":focus-visible") || this.node.querySelector("[aria-expanded=true]") ? "held while you look" : "";
  }

  show() {
    const held = this.held();
    if (!held || this.forced || !this.views.size) this.refresh();
    const waiting = this.turns.arrived - this.seen;
    const kept = this.turns.kept.size ? `${plural(this.views.size, "turn")} of ${figure(this.turns.begun)}` : "";
    setText(byId("turns-sum"), held ? held + (waiting ? ` · ${plural(waiting, "call")} since` : "") : kept);
    setText(byId("pause"), this.paused ? "Go on" : "Pause");
    setAttribute(byId("pause"), "aria-pressed", this.paused);
    setHidden(byId("turns-none"), this.views.size > 0);
    setText(byId("turns-none"), this.turns.begun ? "No turn that is kept is like that." : "No call since this page was opened. Turns appear here as they are answered.");
  }

  refresh() {
    this.forced = false;
    this.seen = this.turns.arrived;
    const shown = this.turns.shown((call) => this.wanted(call));
    const keys = new Set(shown.map((turn) => turn.key));
    for (const [key, view] of this.views) {
      if (keys.has(key)) continue;
      view.node.remove();
      this.views.delete(key);
    }
    let before = this.node.firstElementChild;
    for (const turn of shown) {
      const view = this.views.get(turn.key) ?? this.begin(turn);
      fillTurn(view, this.budget, (call) => turn.pinned || this.wanted(call));
      if (view.node === before) before = before.nextElementSibling;
      else this.node.insertBefore(view.node, before);
    }
    this.oneTabStop();
  }

  begin(turn) {
    const view = makeTurn(turn);
    this.views.set(turn.key, view);
    return view;
  }

  viewOf(node) {
    const inside = node.closest(".turn");
    return inside && [...this.views.values()].find((view) => view.node === inside);
  }

  clicked(target) {
    const view = this.viewOf(target);
    const call = target.closest(".call"), pin = target.closest(".pin");
    if (view && pin) {
      this.turns.pin(view.turn);
      this.forced = true;
    } else if (view && call) toggleDetails(call);
    if (pin || call) this.changed();
  }

  /** Up and down go from call to call, Home and End to the first and the last, p pins the turn. */
  pressed(event) {
    if (!event.target.classList.contains("call") || event.ctrlKey || event.metaKey || event.altKey) return;
    const calls = [...this.node.querySelectorAll("li:not([hidden]) > .call")], at = calls.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: calls.length - 1 }[event.key];
    if (to !== undefined) {
      const next = calls[Math.max(0, Math.min(calls.length - 1, to))];
      this.oneTabStop(next);
      next.focus();
    } else if (event.key === "Escape" && event.target.getAttribute("aria-expanded") === "true") event.target.click();
    else if (event.key === "p") event.target.closest(".turn").querySelector(".pin").click();
    else return;
    event.preventDefault();
  }

  /** The list is one stop of the Tab key: the call that was last gone to, and its turn's pin. */
  oneTabStop(chosen = null) {
    const current = chosen ?? this.node.querySelector(".call[tabindex='0']");
    const stop = current ?? this.node.querySelector("li:not([hidden]) > .call");
    for (const each of this.node.querySelectorAll("[tabindex='0']")) each.setAttribute("tabindex", "-1");
    if (!stop) return;
    stop.setAttribute("tabindex", "0");
    stop.closest(".turn").querySelector(".pin").setAttribute("tabindex", "0");
  }
}
