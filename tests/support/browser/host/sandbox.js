// The sandbox proxy: a page of another origin than the host's, between it and the card (MCP Apps 2026-01-26, "Sandbox proxy").
// It loads what the host hands over into a frame of its own, which inherits this page's policy, and passes messages on.
"use strict";
const READY = "ui/notifications/sandbox-proxy-ready";
const RESOURCE = "ui/notifications/sandbox-resource-ready";
const HOST = new URL(document.referrer).origin;
const RESERVED = "ui/notifications/sandbox-";

function reachesHost() {
  try {
    return Boolean(window.top.document);
  } catch {
    return false;
  }
}

const inner = document.createElement("iframe");
inner.title = "Card";

window.addEventListener("message", ({ source, origin, data }) => {
  if (source === window.parent && origin === HOST) {
    if (data.method === RESOURCE) load(data.params);
    else if (!reserved(data)) inner.contentWindow.postMessage(data, "*");
  } else if (source === inner.contentWindow && !reserved(data)) {
    window.parent.postMessage(data, HOST);
  }
});

const reserved = (data) => typeof data?.method === "string" && data.method.startsWith(RESERVED);

/** Scripts and nothing else by default: the card has no origin, so that it reaches neither storage nor this page. */
function load({ html, sandbox = "allow-scripts" }) {
  inner.setAttribute("sandbox", sandbox);
  inner.srcdoc = html;
  document.body.append(inner);
}

if (window.self === window.top || reachesHost()) throw new Error("not in a sandbox");
window.addEventListener("DOMContentLoaded", () => window.parent.postMessage({ jsonrpc: "2.0", method: READY, params: {} }, HOST));
