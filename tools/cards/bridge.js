// The protocol in the frame: MCP Apps, 2026-01-26. JSON-RPC over postMessage with the host, window.parent, and with nobody else.
//   card({ render, input, cancelled })  begins the conversation. `render(result, context)` draws the tool's result, again when the
//       context has changed; `input(args, context)` draws before it; `cancelled(reason, context)` draws a call that was stopped.
//   ask.callTool(name, args)  has the host call a tool of the same server: a promise of its result.
//   ask.message(text)  has the host say it in the conversation, as the customer; ask.open(url) opens a page: a promise that it was taken.
//   context  the host's own: locale, theme, timeZone, ...; `width` of the frame; `tools`, `links`: whether callTool and open work.

/** The object, or an empty one for any other value. */
const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});

/** The function's result; null where it throws. */
function attempt(work) {
  try {
    return work();
  } catch {
    return null;
  }
}

const { card, ask, context } = (() => {
  const VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;
  const FETCHES = /url\(|image\(|image-set\(|src\(|\\|[;{}<]/i;

  const root = document.documentElement;
  const host = window.parent;
  const known = { width: window.innerWidth, tools: false, links: false };
  const open = new Map();
  const size = { width: 0, height: 0 };
  let last = 0;
  let face = null;
  let shown = null;
  let watch = null;
  let logs = false;

  const text = (value) => (typeof value === "string" ? value.slice(0, 2000) : "");

  const say = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => say({ method, params });

  /** A promise of the host's answer; an Error where the host refuses, or is late. */
  function request(method, params, seconds = 30) {
    return new Promise((resolve, reject) => {
      const id = (last += 1);
      const late = seconds && setTimeout(() => settle(id, { error: { message: "The host did not answer." } }), seconds * 1000);
      open.set(id, { resolve, reject, late });
      say({ id, method, params });
    });
  }

  function settle(id, message) {
    const waiting = open.get(id);
    if (!waiting) return;
    open.delete(id);
    clearTimeout(waiting.late);
    const { code, message: why } = object(message.error);
    if ("error" in message) waiting.reject(Object.assign(new Error(text(why) || "The host refused."), { code }));
    else waiting.resolve(object(message.result));
  }

  /** Draws, and never ends the conversation: a fault shows in `data-state` and in the host's log. */
  function draw(state, paint) {
    root.dataset.state = state;
    try {
      paint();
    } catch (fault) {
      root.dataset.state = "failed";
      if (logs) notify("notifications/message", { level: "error", logger: document.title, data: text(String(fault)) });
    }
  }

  /** A result as a face reads it: with its structure, even where a host has handed on the text alone. */
  function whole(result) {
    const content = (Array.isArray(result.content) ? result.content : []).map(object);
    if (result.structuredContent) return { ...result, content, structuredContent: object(result.structuredContent) };
    const parsed = attempt(() => JSON.parse(content.find((each) => each.type === "text").text));
    return { ...result, content, structuredContent: object(parsed) };
  }

  const NOTIFIED = {
    "ui/notifications/tool-input": (params) => awaiting(params),
    "ui/notifications/tool-input-partial": (params) => awaiting(params),
    "ui/notifications/tool-result": (params) => show(() => face.render(whole(params), known), "ready"),
    "ui/notifications/tool-cancelled": ({ reason }) => show(() => face.cancelled?.(text(reason), known), "cancelled"),
    "ui/notifications/host-context-changed": (params) => changed(params),
  };
  const ASKED = { ping: () => ({}), "ui/resource-teardown": () => end() };

  const awaiting = ({ arguments: given }) => root.dataset.state === "waiting" && show(() => face.input?.(object(given), known), "waiting");

  function show(paint, state) {
    shown = () => draw(state, paint);
    shown();
  }

  /** Draws again where more than style has changed: a theme follows by itself, and the reader stays at the same page. */
  function changed(params) {
    const seen = () => JSON.stringify([known.locale, known.timeZone, known.displayMode]);
    const before = seen();
    adopt(params);
    if (seen() !== before) shown?.();
  }

  /** Takes over the host's context. Nothing of it may fetch: fonts from elsewhere, and values with an address, are left. */
  function adopt(given) {
    Object.assign(known, object(given), { width: window.innerWidth, tools: known.tools, links: known.links });
    const { theme, locale, displayMode, styles, safeAreaInsets, containerDimensions } = known;
    if (theme === "light" || theme === "dark") root.style.colorScheme = root.dataset.theme = theme;
    if (/^[a-z]{2,3}\b/i.test(text(locale))) root.lang = text(locale).slice(0, 35);
    if (/^[a-z]+$/.test(text(displayMode))) root.dataset.display = displayMode;
    for (const [name, value] of Object.entries(object(object(styles).variables))) {
      if (VARIABLE.test(name) && typeof value === "string" && !FETCHES.test(value)) root.style.setProperty(name, value);
    }
    for (const side of ["top", "right", "bottom", "left"]) {
      const inset = object(safeAreaInsets)[side];
      if (typeof inset === "number" && inset >= 0 && inset <= 500) root.style.setProperty(`--safe-${side}`, `${inset}px`);
    }
    root.style.height = object(containerDimensions).height ? "100vh" : "";
  }

  /** Tells the host how much room the card takes, when that has changed. */
  function measure() {
    known.width = window.innerWidth;
    const height = Math.ceil(root.getBoundingClientRect().height);
    if (!height || (size.width === known.width && size.height === height)) return;
    Object.assign(size, { width: known.width, height });
    notify("ui/notifications/size-changed", { ...size });
  }

  function end() {
    watch?.disconnect();
    window.removeEventListener("resize", measure);
    for (const id of [...open.keys()]) settle(id, { error: { message: "The card was closed." } });
    return {};
  }

  function hear({ source, data }) {
    const message = object(data);
    if (source !== host || message.jsonrpc !== "2.0") return;
    const { id, method } = message;
    if (typeof method !== "string") {
      if ("result" in message || "error" in message) settle(id, message);
    } else if (id === undefined) {
      if (Object.hasOwn(NOTIFIED, method)) NOTIFIED[method](object(message.params));
    } else if (typeof id === "string" || typeof id === "number") {
      say({ id, ...(Object.hasOwn(ASKED, method) ? { result: ASKED[method]() } : { error: { code: -32601, message: "A card has no such method." } }) });
    }
  }

  /** The specification's text shows one block, its reference implementation takes a list: the list first, as hosts do. */
  async function utter(block) {
    const said = (content) => request("ui/message", { role: "user", content }, 120);
    const taken = await said([block]).catch((refused) => {
      if ([-32602, -32603].includes(refused.code)) return said(block);
      throw refused;
    });
    if (taken.isError) throw new Error("The host did not take it.");
  }

  async function begin() {
    root.dataset.state = "waiting";
    window.addEventListener("message", hear);
    const hello = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: document.title, version: "1.0.0" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    }, 0);
    const able = object(hello.hostCapabilities);
    [known.tools, known.links, logs] = [able.serverTools, able.openLinks, able.logging].map(Boolean);
    adopt(hello.hostContext);
    notify("ui/notifications/initialized");
    show(() => face.input?.({}, known), "waiting");
    measure();
    watch = new ResizeObserver(measure);
    watch.observe(root);
    window.addEventListener("resize", measure);
  }

  return {
    card(drawn) {
      face = drawn;
      // A page that was opened by itself has no host to talk to.
      if (host !== window) begin().catch(() => { root.dataset.state = "failed"; });
    },
    ask: {
      async callTool(name, args = {}) {
        if (!known.tools) throw new Error("This host calls no tools for a card.");
        return whole(await request("tools/call", { name, arguments: args }));
      },
      message: (words) => utter({ type: "text", text: text(words) }),
      open: (url) => request("ui/open-link", { url }).then((taken) => taken.isError && Promise.reject(new Error("The host did not open it."))),
    },
    context: known,
  };
})();
