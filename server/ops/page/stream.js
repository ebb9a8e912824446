"use strict";
// The stream of events (text/event-stream, HTML standard §9.2.6), read by fetch and not by EventSource: it tells why it was
// refused, and that nothing has come for longer than a server that lives would be silent.

const SILENT_MS = 6000; // a state comes each second
const WAITS_MS = [1000, 2000, 4000, 8000, 15000];
const LONGEST_EVENT = 1 << 20;
const REFUSALS = { 401: "the server asks for a token", 403: "this token may not see this page", 404: "the page was switched off", 503: "too many of these pages are open, or the server is stopping" };

class Stream {
  /** `onEvent(name, value)` for each event, `onLink(state, why)` for each change: connecting, live, waiting or asleep. */
  constructor(url, onEvent, onLink) {
    this.url = url;
    this.onEvent = onEvent;
    this.onLink = onLink;
    this.failures = 0;
    this.current = null; // aborts the connection that is under way
    this.timer = 0;
  }

  open() {
    if (this.current) return;
    clearTimeout(this.timer);
    const own = new AbortController();
    this.current = own;
    this.onLink("connecting", "");
    // One that was put to sleep says nothing of the one that woke after it.
    this.follow(own).then(() => "the server ended the stream", (error) => error.message).then((why) => this.current === own && this.lost(why));
  }

  /** Ends it for good, until `open`: a page that nobody sees costs the server nothing. */
  sleep() {
    clearTimeout(this.timer);
    this.asleep = true;
    this.current?.abort();
    this.current = null;
    this.onLink("asleep", "");
  }

  wake() {
    if (!this.asleep) return;
    this.asleep = false;
    this.failures = 0;
    this.open();
  }

  lost(why) {
    this.current = null;
    const wait = WAITS_MS[Math.min(this.failures, WAITS_MS.length - 1)] * (0.8 + 0.4 * Math.random());
    this.failures += 1;
    this.onLink("waiting", why);
    this.timer = setTimeout(() => this.open(), wait);
  }

  async follow(controller) {
    const silence = new Silence(controller);
    try {
      const response = await fetch(this.url, { headers: { accept: "text/event-stream" }, cache: "no-store", signal: controller.signal }).catch(() => null);
      if (!response) throw new Error(silence.why || "the server does not answer");
      if (!response.ok || !response.body) throw new Error(REFUSALS[response.status] ?? `the server answers ${response.status}`);
      await this.read(response.body.pipeThrough(new TextDecoderStream()).getReader(), silence);
    } catch (error) {
      throw new Error(silence.why || (error instanceof TypeError ? "the connection broke" : error.message));
    } finally {
      silence.over();
      controller.abort();
    }
  }

  async read(reader, silence) {
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      silence.broken();
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      if (rest.length > LONGEST_EVENT) throw new Error("an event has no end");
      blocks.forEach((block) => this.dispatch(block));
    }
  }

  dispatch(block) {
    let name = "message";
    const data = [];
    for (const line of block.split("\n")) {
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === "event") name = value;
      else if (field === "data") data.push(value);
    }
    if (!data.length) return;
    let value;
    try {
      value = JSON.parse(data.join("\n"));
    } catch {
      return; // half an event says nothing
    }
    if (this.failures || name === "hello") this.failures = 0;
    this.onEvent(name, value);
  }
}

/** Gives a connection up over which nothing comes. */
class Silence {
  constructor(controller) {
    this.controller = controller;
    this.why = "";
    this.broken();
  }

  broken() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.why = `nothing came for ${SILENT_MS / 1000} s`;
      this.controller.abort();
    }, SILENT_MS);
  }

  over() {
    clearTimeout(this.timer);
  }
}
