// What a running call has told so far, and the calls that it made.

import { argumentParts, isGoing, shapeOf } from "./call_facts.js";
import { h, icon, link, setText } from "./dom.js";
import { clock, counted, duration, size } from "./formats.js";
import { shownLine, terminal } from "./text.js";

const MAX_FIRST_LINES = 400;
const MAX_TAIL_PX = 152;
const OUTPUT_EXPECTED_MS = 1000;

/** What a running call has told, following its end. */
export class Output {
  isFollowing = true;
  isUsed = false;
  /** @type {import("./call_facts.js").Tail | null} */
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

  /** @param {import("./call_facts.js").Call} call @param {number} grewAt */
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

  /** @param {import("./call_facts.js").Call} call */
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
export class Below {
  constructor() {
    this.title = h("span", {});
    this.failed = h("span", { class: "st-error" });
    this.rows = h("ul", { class: "pi-rows", role: "list" });
    const head = h("div", { class: "pi-sec" }, this.title, this.failed);
    this.el = h("div", { hidden: true }, head, this.rows);
  }

  /** @param {import("./call_facts.js").Call} call */
  show(call) {
    this.el.hidden = !call.nBelow;
    if (!call.nBelow) return;
    setText(this.title, `${counted(call.nBelow, "call")} inside`);
    setText(this.failed, call.nFailedBelow ? `${call.nFailedBelow} failed` : "");
    this.rows.replaceChildren(...call.below.map(belowRow));
  }
}

/** @param {import("./call_facts.js").Call} call */
function belowRow(call) {
  return h(
    "li",
    {},
    h("span", {}),
    icon(shapeOf(call.kind)),
    h("span", { class: "pi-tool" }, ...shownLine(call.tool)),
    h("span", { class: "pi-args" }, ...argumentParts(call)),
    h("span", { class: `st-${call.kind}` }, call.word),
    h("span", { class: "du" }, call.ms === null ? "" : duration(call.ms)),
  );
}
