// The calls of a running cell, or one call that somebody looks at: a card each while they are few,
// and of many those that the kernel finds worth showing.

import { Card } from "./call_card.js";
import { isGoing } from "./call_facts.js";
import { button, h, placeChildren, setText } from "./dom.js";
import { counted } from "./formats.js";
import { GONE, UNLOADED } from "./link.js";
import { plain } from "./text.js";

/** @typedef {import("./call_facts.js").Call} Call */

const TICK_MS = 100;

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
