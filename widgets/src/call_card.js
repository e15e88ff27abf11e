// The card of one call: its line, and below it what it has told or given.

import { argumentParts, hasFailed, isGoing, shapeOf } from "./call_facts.js";
import { Below, Output } from "./call_output.js";
import { button, copyButton, h, icon, setAttribute, setText } from "./dom.js";
import { clock, duration } from "./formats.js";
import { fragment } from "./fragment.js";
import { plain, shownLine } from "./text.js";

/**
 * @typedef {Object} Results What the cards of a widget share.
 * @property {Map<string, string>} results The HTML of results that somebody opened, by call.
 * @property {Map<string, number>} grew When each call's output last grew.
 */

export class Card {
  /** @type {boolean | null} What the person chose. */
  chosen = null;
  isStopping = false;
  /** @type {import("./call_facts.js").Call | null} */
  call = null;

  /** @param {Results} store @param {import("./link.js").Link} link @param {string} id */
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

  /** @param {import("./call_facts.js").Call} call */
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

  /** @param {import("./call_facts.js").Call} call @param {import("./call_facts.js").Call | null} before */
  #showStatus(call, before) {
    setAttribute(this.shape, "class", `pi-i ${shapeOf(call.kind)}`);
    setAttribute(this.status, "class", `pi-st st-${call.kind}`);
    setAttribute(this.el, "aria-label", plain(`${call.tool}, ${call.word}`));
    if (before && isGoing(before) && !isGoing(call) && call.kind !== "unfinished")
      setText(this.said, plain(`${call.tool} ended: ${call.word}`));
  }

  /** @param {import("./call_facts.js").Call} call */
  #showLine(call) {
    this.tool.replaceChildren(...shownLine(call.tool));
    this.args.replaceChildren(...argumentParts(call));
    this.args.title = plain(call.about ? `${call.about}\n${call.line}` : call.line);
  }

  /** @param {import("./call_facts.js").Call} call */
  #isOpen(call) {
    return this.chosen ?? (isGoing(call) ? hasBody(call) : hasFailed(call) || this.output.isUsed);
  }

  /** @param {import("./call_facts.js").Call} call */
  #fold(call) {
    const isOpen = this.#isOpen(call);
    this.body.hidden = !isOpen;
    this.head.classList.toggle("open", isOpen);
    setAttribute(this.caret, "aria-expanded", String(isOpen));
    setAttribute(this.caret, "aria-label", plain(`${isOpen ? "Hide" : "Show"} ${call.tool}`));
  }

  /** Of a call that has ended the kernel makes the body when somebody opens it. @param {import("./call_facts.js").Call} call */
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

/** @param {import("./call_facts.js").Call} call */
function hasBody(call) {
  return call.tail !== null || call.nBelow > 0;
}

/** @param {import("./call_facts.js").Call} call */
function timeOf(call) {
  if (call.ms === null) return isGoing(call) ? "" : "did not run";
  if (!isGoing(call)) return duration(call.ms);
  const at = /** @type {any} */ (call).at ?? 0;
  return clock(call.ms + performance.now() - at);
}
