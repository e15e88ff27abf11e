// The calls of a running cell, or one call that somebody looks at: a card each while they are few,
// a list of what runs and what failed when they are many.

import { button, copyButton, h, icon, link, placeChildren, setAttribute, setText } from "./dom.js";
import { clock, counted, duration, size } from "./formats.js";
import { fragment } from "./fragment.js";
import { GONE, UNLOADED } from "./link.js";
import { plain, shownLine, terminal } from "./text.js";

/**
 * @typedef {Object} Tail The end of what a running call has told.
 * @property {string} text
 * @property {number} earlier Lines that are not sent.
 * @property {number} lines
 * @property {number} bytes
 * @property {boolean} terminal Whether it is a shell's output.
 */
/**
 * @typedef {Object} Call
 * @property {string} id
 * @property {string} tool
 * @property {string} line Its arguments.
 * @property {string} about What it is doing, in words.
 * @property {boolean} isPath Whether the arguments are a path.
 * @property {string} kind Its status: `running`, `ok`, `error`, ...
 * @property {string} word
 * @property {number | null} ms How long it has run; null when it did not.
 * @property {Tail | null} tail
 * @property {Call[]} below The last of the calls that it made.
 * @property {number} nBelow
 * @property {number} nFailedBelow
 */

const MAX_FIRST_LINES = 400;
const TICK_MS = 100;
const MAX_TAIL_PX = 152;
const OUTPUT_EXPECTED_MS = 1000;
const FAILED = new Set(["error", "invalid", "notfound", "timeout", "blocked"]);

/** @param {{kind: string}} call */
function isGoing(call) {
  return call.kind === "running" || call.kind === "queued";
}

class CallsStore {
  /** @type {Map<string, Call>} */
  calls = new Map();
  /** @type {Map<string, string>} The HTML of results that somebody opened. */
  results = new Map();
  counts = { calls: 0, running: 0, failed: 0 };
  /** @type {string[]} Which calls to show, in order. */
  shown = [];
  /** What the cell itself says. */
  note = "";
  /** @type {Map<string, number>} When each call's output last grew. */
  grew = new Map();

  /** @param {any} message */
  receive(message) {
    if (message.type === "result") this.results.set(message.id, message.html);
    if (message.type !== "calls") return;
    const now = performance.now();
    if (message.isWhole) this.calls.clear();
    for (const call of message.calls) {
      const before = this.calls.get(call.id);
      // Unchanged output is not sent again.
      if (call.tail === undefined) call.tail = before?.tail ?? null;
      else this.grew.set(call.id, now);
      call.at = now;
      this.calls.set(call.id, call);
    }
    this.shown = message.shown;
    this.counts = message.counts;
    this.note = message.note ?? "";
  }

  /** @param {import("./link.js").Link} link */
  makeView(link) {
    return new CallsView(this, link);
  }
}

export function makeCalls() {
  return new CallsStore();
}

class CallsView {
  /** @type {Map<string, Card>} */
  cards = new Map();
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer;

  /** @param {CallsStore} store @param {import("./link.js").Link} link */
  constructor(store, link) {
    this.store = store;
    this.link = link;
    this.head = new ListHead(() => this.stopAll());
    this.list = h("div", {});
    this.note = h("div", { class: "pi-listhead", role: "status", hidden: true });
    this.el = h(
      "div",
      { role: "group", "aria-label": "Running calls" },
      this.head.el,
      this.list,
      this.note,
    );
  }

  update() {
    const { store, link } = this;
    this.head.update(store, link.state);
    const wanted = store.shown.flatMap((id) => store.calls.get(id) ?? []);
    const cards = wanted.map((call) => {
      const card = this.cards.get(call.id) ?? new Card(store, link, call.id);
      card.update(link.state === "gone" ? lastSeen(call) : call);
      return card;
    });
    this.cards = new Map(cards.map((card) => [card.id, card]));
    placeChildren(
      this.list,
      cards.map((card) => card.el),
    );
    this.note.hidden = link.state === "live";
    if (link.state === "gone") setText(this.note, GONE);
    if (link.state === "unloaded") setText(this.note, UNLOADED);
    this.#keepTime(link.state === "live" && wanted.some(isGoing));
  }

  /** @param {boolean} isNeeded */
  #keepTime(isNeeded) {
    if (isNeeded === Boolean(this.timer)) return;
    clearInterval(this.timer);
    this.timer = isNeeded ? setInterval(() => this.tick(), TICK_MS) : undefined;
  }

  tick() {
    if (document.hidden || !this.el.isConnected) return;
    for (const card of this.cards.values()) card.tick();
  }

  moved() {
    for (const card of this.cards.values()) card.output.toEnd();
  }

  stopAll() {
    for (const call of this.store.calls.values())
      if (isGoing(call)) this.link.send({ type: "stop", id: call.id });
  }

  close() {
    this.#keepTime(false);
  }
}

/** @param {Call} call */
function isBad(call) {
  return FAILED.has(call.kind);
}

/** A call whose end nobody will tell. @param {Call} call @returns {Call} */
function lastSeen(call) {
  return isGoing(call) ? { ...call, kind: "unfinished", word: "unfinished" } : call;
}

/** Says what many calls come to. */
class ListHead {
  /** @param {() => void} stopAll */
  constructor(stopAll) {
    this.note = h("span", { class: "note" });
    this.text = h("span", {});
    this.bad = h("span", { class: "st-error" });
    this.stop = button("Stop all", stopAll, { kind: "stop", shape: "stop" });
    const space = h("span", { class: "grow" });
    this.el = h(
      "div",
      { class: "pi-listhead", hidden: true },
      this.note,
      this.text,
      this.bad,
      space,
      this.stop,
    );
  }

  /** @param {CallsStore} store @param {string} state */
  update({ counts, note }, state) {
    this.el.hidden = counts.calls < 2 && !note;
    setText(this.note, plain(note));
    this.note.hidden = !note;
    this.text.hidden = counts.calls < 2;
    const ended = counts.calls - counts.running;
    setText(
      this.text,
      `${counted(counts.calls, "call")}, ${ended} ended, ${counts.running} running`,
    );
    setText(this.bad, counts.failed ? `${counts.failed} failed` : "");
    this.stop.hidden = counts.running < 2 || state !== "live";
  }
}

/** One call: its line, and below it what it has told. */
class Card {
  /** @type {boolean | null} What the person chose. */
  chosen = null;
  isStopping = false;
  /** @type {Call | null} */
  call = null;

  /** @param {CallsStore} store @param {import("./link.js").Link} link @param {string} id */
  constructor(store, link, id) {
    this.store = store;
    this.link = link;
    this.id = id;
    this.shape = icon("run");
    this.tool = h("span", { class: "pi-tool" });
    this.args = h("span", { class: "pi-args" });
    this.word = h("span", { class: "wd" });
    this.status = h("span", { class: "pi-st" }, this.word);
    this.time = h("span", { class: "d" });
    this.stop = button("Stop", () => this.#stop(), { kind: "stop", shape: "stop" });
    this.copy = copyButton("Copy arguments", () => this.call?.line ?? "");
    this.caret = h(
      "button",
      { type: "button", class: "pi-caret", onclick: () => this.#toggle() },
      icon("caret"),
    );
    this.head = h(
      "div",
      { class: "pi-h" },
      this.caret,
      this.shape,
      this.tool,
      this.args,
      h("span", { class: "pi-meta" }, this.status, this.time),
      h("span", { class: "pi-act" }, this.copy, this.stop),
    );
    this.said = h("span", { class: "sr", "aria-live": "polite" });
    this.output = new Output();
    this.below = new Below();
    this.result = h("div", { class: "pi-result", hidden: true });
    this.quiet = h("div", { class: "pi-empty" }, "No output yet.");
    const parts = [this.output.el, this.below.el, this.result, this.quiet];
    this.body = h("div", { class: "pi-body" }, ...parts);
    this.el = h(
      "div",
      {
        class: "pi-card",
        role: "group",
        onkeydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
      },
      this.head,
      this.body,
      this.said,
    );
  }

  /** @param {Call} call */
  update(call) {
    const before = this.call;
    this.call = call;
    if (before?.kind !== call.kind) this.#showStatus(call, before);
    if (before?.line !== call.line || before?.tool !== call.tool) this.#showLine(call);
    setText(this.word, this.isStopping && isGoing(call) ? "stopping" : call.word);
    this.stop.hidden = !isGoing(call) || this.link.state !== "live";
    this.stop.disabled = this.isStopping;
    this.copy.hidden = !this.stop.hidden;
    if (this.#isOpen(call)) {
      this.output.show(call, this.store.grew.get(call.id) ?? 0);
      this.below.show(call);
      this.#showResult(call);
      this.quiet.hidden = !isGoing(call) || hasBody(call);
    }
    this.#fold(call);
    this.tick();
  }

  /** @param {Call} call @param {Call | null} before */
  #showStatus(call, before) {
    setAttribute(this.shape, "class", `pi-i ${SHAPE_OF[call.kind] ?? call.kind}`);
    setAttribute(this.status, "class", `pi-st st-${call.kind}`);
    setAttribute(this.el, "aria-label", plain(`${call.tool}, ${call.word}`));
    if (before && isGoing(before) && !isGoing(call) && call.kind !== "unfinished")
      setText(this.said, plain(`${call.tool} ended: ${call.word}`));
  }

  /** @param {Call} call */
  #showLine(call) {
    this.tool.replaceChildren(...shownLine(call.tool));
    this.args.replaceChildren(...argumentParts(call));
    this.args.title = plain(call.about ? `${call.about}\n${call.line}` : call.line);
  }

  /** @param {Call} call */
  #isOpen(call) {
    return this.chosen ?? (isGoing(call) ? hasBody(call) : isBad(call) || this.output.isUsed);
  }

  /** @param {Call} call */
  #fold(call) {
    const isOpen = this.#isOpen(call);
    this.body.hidden = !isOpen;
    this.head.classList.toggle("open", isOpen);
    setAttribute(this.caret, "aria-expanded", String(isOpen));
    setAttribute(this.caret, "aria-label", plain(`${isOpen ? "Hide" : "Show"} ${call.tool}`));
  }

  /** Of a call that has ended the kernel makes the body when somebody opens it. @param {Call} call */
  #showResult(call) {
    if (isGoing(call) || call.kind === "unfinished") return;
    const html = this.store.results.get(call.id);
    if (html === undefined) {
      if (!this.isAsked) this.link.send({ type: "open", id: call.id });
      this.isAsked = true;
    } else if (this.result.hidden) {
      this.result.replaceChildren(fragment(html));
      this.result.hidden = false;
      this.output.el.hidden = true;
    }
  }

  isAsked = false;

  tick() {
    const { call } = this;
    if (!call) return;
    setText(this.time, timeOf(call));
    if (!this.body.hidden) this.output.tick(call);
  }

  #toggle() {
    if (!this.call) return;
    this.chosen = this.body.hidden === true;
    this.update(this.call);
  }

  #stop() {
    this.isStopping = true;
    this.link.send({ type: "stop", id: this.id });
    if (this.call) this.update(this.call);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !this.body.hidden) this.caret.focus();
    else if (event.key === "c") this.copy.click();
    else if (event.key !== "Enter" && event.key !== " ") return;
    event.stopPropagation();
  }
}

/** @type {Record<string, string>} */
const SHAPE_OF = { running: "run" };

/** @param {Call} call */
function hasBody(call) {
  return call.tail !== null || call.nBelow > 0;
}

/** @param {Call} call */
export function timeOf(call) {
  if (call.ms === null) return isGoing(call) ? "" : "did not run";
  if (!isGoing(call)) return duration(call.ms);
  const at = /** @type {any} */ (call).at ?? 0;
  return clock(call.ms + performance.now() - at);
}

/** A path keeps its last part when there is little room. @param {Call} call @returns {(Node | string)[]} */
export function argumentParts(call) {
  if (!call.isPath) return [h("span", { class: "x" }, ...shownLine(call.line))];
  const cut = call.line.lastIndexOf("/") + 1;
  const file = h("span", { class: "t" }, ...shownLine(call.line.slice(cut)));
  const folder = call.line.slice(0, cut);
  return folder ? [h("span", { class: "h" }, ...shownLine(folder)), file] : [file];
}

/** What a running call has told, following its end. */
class Output {
  isFollowing = true;
  isUsed = false;
  /** @type {Tail | null} */
  tail = null;
  grewAt = 0;

  constructor() {
    this.more = h("div", { class: "pi-more", hidden: true });
    this.pre = h("pre", {
      class: "pi-pre",
      tabindex: 0,
      role: "log",
      "aria-live": "off",
      "aria-label": "Output so far",
    });
    this.scroll = h(
      "div",
      { class: "pi-tail", onscroll: () => this.#scrolled() },
      this.more,
      this.pre,
    );
    this.lines = h("span", {});
    this.bytes = h("span", {});
    this.ago = h("span", {});
    this.follow = link("Pause scrolling", () => this.#setFollowing(!this.isFollowing));
    const space = h("span", { class: "grow" });
    this.foot = h("div", { class: "pi-f" }, this.lines, this.bytes, this.ago, space, this.follow);
    this.el = h("div", { hidden: true }, this.scroll, this.foot);
  }

  /** @param {Call} call @param {number} grewAt */
  show(call, grewAt) {
    const { tail } = call;
    if (!tail) return;
    this.isUsed = true;
    this.el.hidden = false;
    this.grewAt = grewAt;
    if (tail === this.tail) return;
    this.tail = tail;
    this.more.hidden = !tail.earlier;
    setText(this.more, counted(tail.earlier, "earlier line"));
    const lines = tail.text.replace(/\n$/, "").split("\n");
    this.scroll.hidden = !tail.text;
    this.pre.classList.toggle("wrap", !tail.terminal);
    this.pre.replaceChildren(...terminal(lines.slice(-MAX_FIRST_LINES)));
    setText(this.lines, tail.text ? counted(tail.lines, "line") : "");
    setText(this.bytes, tail.text ? size(tail.bytes) : "");
    this.follow.hidden = !isGoing(call) || this.scroll.scrollHeight <= MAX_TAIL_PX;
    this.toEnd();
  }

  toEnd() {
    if (this.isFollowing) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  /** @param {Call} call */
  tick(call) {
    this.ago.hidden = !isGoing(call);
    if (this.ago.hidden) return;
    const ago = performance.now() - this.grewAt;
    if (!this.tail?.text) {
      setText(this.ago, ago > OUTPUT_EXPECTED_MS ? "Waiting for the first output" : "");
    } else setText(this.ago, `last output ${clock(ago)} ago`);
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    const isAtEnd = scrollHeight - clientHeight - scrollTop < 4;
    if (isAtEnd !== this.isFollowing) this.#setFollowing(isAtEnd);
  }

  /** @param {boolean} isFollowing */
  #setFollowing(isFollowing) {
    this.isFollowing = isFollowing;
    setText(this.follow, isFollowing ? "Pause scrolling" : "Follow again");
    this.toEnd();
  }
}

/** The calls that a call made: the last of them, one line each. */
class Below {
  constructor() {
    this.title = h("span", {});
    this.failed = h("span", { class: "st-error" });
    this.rows = h("ul", { class: "pi-rows", role: "list" });
    const head = h("div", { class: "pi-sec" }, this.title, this.failed);
    this.el = h("div", { hidden: true }, head, this.rows);
  }

  /** @param {Call} call */
  show(call) {
    this.el.hidden = !call.nBelow;
    if (!call.nBelow) return;
    setText(this.title, `${counted(call.nBelow, "call")} inside`);
    setText(this.failed, call.nFailedBelow ? `${call.nFailedBelow} failed` : "");
    this.rows.replaceChildren(...call.below.map(belowRow));
  }
}

/** @param {Call} call */
function belowRow(call) {
  return h(
    "li",
    {},
    h("span", {}),
    icon(SHAPE_OF[call.kind] ?? call.kind),
    h("span", { class: "pi-tool" }, ...shownLine(call.tool)),
    h("span", { class: "pi-args" }, ...argumentParts(call)),
    h("span", { class: `st-${call.kind}` }, call.word),
    h("span", { class: "du" }, call.ms === null ? "" : duration(call.ms)),
  );
}
