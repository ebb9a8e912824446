// A host of MCP Apps 2026-01-26, strict where the specification leaves a choice. It asks the MCP server through its own backend,
// puts the tool's page behind a sandbox of another origin, and speaks with it. Tests drive it by `host`:
//
//   host.show(options)   asks the tool and shows its card; host.card is what became of it: `state`, `log`, `faults`, `size`
//   host.tell(method, params), host.ask(method, params)   says or asks something of the card
//   host.release(result)   hands over the result that was held back
"use strict";
const VERSION = "2026-01-26";
const MIME_TYPE = "text/html;profile=mcp-app";
const SANDBOX = new URLSearchParams(location.search).get("sandbox");
const BACKEND = new URLSearchParams(location.search).get("backend");
const SECONDS = 30;
const late = () => new Promise((_, reject) => setTimeout(() => reject(new Error(`the card has not begun within ${SECONDS} s`)), SECONDS * 1000));
const refused = (code, message) => Object.assign(new Error(message), { code });

async function backend(method, params = {}) {
  const response = await fetch(`/backend/${BACKEND}`, { method: "POST", body: JSON.stringify({ method, params }) });
  const { result, error } = await response.json();
  if (error) throw refused(error.code, error.message);
  return result;
}

/** A card on its way: made, ready (its sandbox), loaded, greeted (it has asked to begin), initialized, gone. */
class Card {
  constructor(options, tool, page) {
    Object.assign(this, { options, tool, page, state: "made", log: [], faults: [], size: null, waiting: new Map(), last: 0 });
    const policy = encodeURIComponent(JSON.stringify(page._meta?.ui?.csp ?? {}));
    this.frame = document.createElement("iframe");
    this.frame.title = tool.title ?? tool.name;
    this.frame.className = "silent";
    this.frame.style.width = `${options.width}px`;
    this.frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
    this.frame.src = `${SANDBOX}/sandbox.html?csp=${policy}`;
    this.hear = this.hear.bind(this);
    window.addEventListener("message", this.hear);
    this.initialized = new Promise((resolve) => (this.begin = resolve));
    document.querySelector("main").append(this.frame);
  }

  fault(what) {
    this.faults.push(what);
  }

  post(message) {
    const whole = { jsonrpc: "2.0", ...message };
    if (message.method && this.state !== "initialized" && !message.method.startsWith("ui/notifications/sandbox-"))
      throw new Error(`${message.method} before the card is initialized`);
    this.log.push({ from: "host", ...message });
    this.frame.contentWindow.postMessage(whole, SANDBOX);
  }

  hear({ source, origin, data }) {
    if (source !== this.frame.contentWindow || origin !== SANDBOX) return;
    if (data?.jsonrpc !== "2.0") return this.fault(`no JSON-RPC: ${JSON.stringify(data)}`);
    const { id, method, params = {} } = data;
    this.log.push({ from: "card", ...data });
    if (method === undefined) return this.settle(data);
    if (id === undefined) return this.notified(method, params);
    if (typeof id !== "number" && typeof id !== "string") return this.fault(`an id is a number or a string: ${id}`);
    const answered = this.state === "initialized" || method === "ui/initialize" || method === "ping";
    if (!answered) this.fault(`${method} before initialized`);
    const answers = CARD_ASKS[method] ?? (() => Promise.reject(refused(-32601, `no method ${method}`)));
    answers(this, params).then(
      (result) => this.post({ id, result }),
      (error) => this.post({ id, error: { code: error.code ?? -32603, message: error.message } }),
    );
  }

  notified(method, params) {
    const heard = CARD_SAYS[method];
    if (heard) heard(this, params);
    else this.fault(`no notification ${method}`);
  }

  settle({ id, result, error }) {
    const asked = this.waiting.get(id);
    if (!asked) return this.fault(`an answer to nothing: ${id}`);
    this.waiting.delete(id);
    if (error) asked.reject(refused(error.code, error.message));
    else asked.resolve(result);
  }

  ask(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = `host-${(this.last += 1)}`;
      this.waiting.set(id, { resolve, reject });
      this.post({ id, method, params });
    });
  }

  remove() {
    this.state = "gone";
    window.removeEventListener("message", this.hear);
    this.frame.remove();
  }
}

const CARD_SAYS = {
  "ui/notifications/sandbox-proxy-ready"(card) {
    card.state = "ready";
    const { csp, permissions } = card.page._meta?.ui ?? {};
    card.post({ method: "ui/notifications/sandbox-resource-ready", params: { html: card.page.text, csp, permissions, sandbox: card.options.sandbox } });
    card.state = "loaded";
  },
  "ui/notifications/initialized"(card) {
    if (card.state !== "greeted") card.fault("initialized before ui/initialize");
    card.state = "initialized";
    card.frame.className = "";
    card.begin();
  },
  "ui/notifications/size-changed"(card, { width, height }) {
    if (![width, height].every((each) => each === undefined || (Number.isFinite(each) && each >= 0))) card.fault("a size in pixels");
    card.size = { width, height };
    if (height !== undefined) card.frame.style.height = `${Math.min(height, card.options.maxHeight)}px`;
  },
  "notifications/message"(card, { level, data }) {
    if (["error", "critical", "alert", "emergency"].includes(level)) card.fault(`logged: ${JSON.stringify(data)}`);
  },
};

const CARD_ASKS = {
  async ping() {
    return {};
  },
  async "ui/initialize"(card, { protocolVersion, appInfo, appCapabilities }) {
    if (protocolVersion !== VERSION) card.fault(`version ${protocolVersion}`);
    if (!appInfo?.name || !appInfo?.version || typeof appCapabilities !== "object") card.fault("ui/initialize without what it needs");
    card.state = "greeted";
    const { context, capabilities } = card.options;
    const hostContext = { toolInfo: { tool: card.tool }, ...context };
    return { protocolVersion: VERSION, hostInfo: { name: "host-of-the-tests", version: "1.0.0" }, hostCapabilities: capabilities, hostContext };
  },
  async "tools/call"(card, { name, arguments: given }) {
    if (!card.options.capabilities.serverTools) {
      card.fault("tools/call, where the host has said that it calls none");
      throw refused(-32601, "this host calls no tools");
    }
    const tool = (await backend("tools/list")).tools.find((each) => each.name === name);
    if (!(tool?._meta?.ui?.visibility ?? ["app"]).includes("app")) throw refused(-32602, `${name} is not for cards`);
    return backend("tools/call", { name, arguments: given });
  },
  async "ui/message"(card, { role, content }) {
    if (role !== "user" || !Array.isArray(content)) card.fault("ui/message needs a role and a list of content");
    return card.options.deaf ? { isError: true } : {};
  },
  async "ui/open-link"() {
    return {};
  },
  async "ui/update-model-context"() {
    return {};
  },
  async "ui/request-display-mode"() {
    return { mode: "inline" };
  },
};

window.host = {
  card: null,
  async show(options) {
    const tool = (await backend("tools/list")).tools.find((each) => each.name === options.tool);
    const uri = tool?._meta?.ui?.resourceUri;
    if (!uri) throw new Error(`${options.tool} has no card`);
    const [page] = (await backend("resources/read", { uri })).contents;
    if (page.mimeType !== MIME_TYPE) throw new Error(`${uri} is ${page.mimeType}`);
    host.card?.remove();
    const card = (host.card = new Card(options, tool, page));
    await Promise.race([card.initialized, late()]);
    card.post({ method: "ui/notifications/tool-input", params: { arguments: options.arguments } });
    if (options.result === "call") await host.release(await backend("tools/call", { name: options.tool, arguments: options.arguments }));
    else if (options.result !== "held") await host.release(options.result);
  },
  release: async (result) => host.card.post({ method: "ui/notifications/tool-result", params: result }),
  tell: (method, params) => host.card.post({ method, params }),
  ask: (method, params) => host.card.ask(method, params),
};
