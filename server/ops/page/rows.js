"use strict";
// A turn and its calls as elements. A call is a button that opens what happened inside it.

function makeTurn(turn) {
  const pin = element("button", { class: "pin", type: "button", tabindex: "-1", "aria-pressed": "false", text: "Pin" });
  const name = element("h3", { text: turn.name === "no turn" ? "without a turn" : `turn ${turn.name}` });
  const who = [turn.session && `session ${turn.session}`, turn.user && `customer ${turn.user}`].filter(Boolean).join(" · ");
  const used = element("p", { class: "used" });
  const calls = element("ol");
  const node = element("article", { class: "turn" }, [
    element("header", {}, [name, element("p", { class: "quiet who", text: who }), used, pin]), calls,
  ]);
  return { turn, node, pin, used, calls, drawn: 0 };
}

function fillTurn(view, budget, wanted) {
  const { turn, node } = view, total = turn.budget ?? budget;
  for (; view.drawn < turn.calls.length; view.drawn += 1) {
    view.calls.append(makeCall(turn.calls[view.drawn], turn.calls.slice(0, view.drawn), total, `${turn.number}-${view.drawn}`));
  }
  const used = usedOf(turn), left = leftOf(turn);
  const words = [turn.missed && `${plural(turn.missed, "call")} more`, used !== null && `${duration(used)} of ${duration(total)} used`, left !== null && `${duration(left)} left`];
  setText(view.used, words.filter(Boolean).join(" · "));
  setAttribute(node, "data-level", levelOf(turn));
  setAttribute(node, "data-pinned", turn.pinned ? "yes" : null);
  setAttribute(view.pin, "aria-pressed", turn.pinned);
  setText(view.pin, turn.pinned ? "Pinned" : "Pin");
  setAttribute(view.pin, "aria-label", `Pin turn ${turn.name}`);
  turn.calls.forEach((call, index) => setHidden(view.calls.children[index], !wanted(call)));
}

function makeCall(call, others, budget, number) {
  const label = call.source === "error" ? call.outcome : call.source === "fallback" && call.fallback ? call.fallback : call.source ?? call.outcome;
  const badges = [
    chip(call.source ?? "none", label),
    ...call.degraded.map((what) => chip("without", `without ${what}`)),
    call.empty ? chip("none", "found nothing") : null,
  ];
  const button = element("button", { class: "call", type: "button", tabindex: "-1", "aria-expanded": "false", "aria-controls": `inside-${number}` }, [
    element("span", { class: "what" }, [element("span", { class: "tool", text: call.tool }), element("span", { class: "badges" }, badges)]),
    element("span", { class: "lane" }, [drawInTurn(call, others, budget)]),
    element("span", { class: "lane" }, [drawInside(call)]),
    element("span", { class: "took" }, [element("b", { text: duration(call.took) }), element("small", { text: call.left === null ? "" : `${duration(call.left)} left` })]),
  ]);
  const item = element("li", {}, [button, element("div", { class: "details", id: `inside-${number}`, hidden: true })]);
  kept.set(button, call);
  return item;
}

const kept = new WeakMap(); // a call's button → the call: what was opened is drawn when it is opened, and not before

function toggleDetails(button) {
  const open = button.getAttribute("aria-expanded") !== "true", details = button.nextElementSibling;
  button.setAttribute("aria-expanded", String(open));
  details.hidden = !open;
  details.replaceChildren(...(open ? makeDetails(kept.get(button)).filter(Boolean) : []));
}
