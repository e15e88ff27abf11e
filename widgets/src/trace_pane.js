// What is known of one call of a trace. The kernel tells it when somebody asks.

import { copyButton, h, iconButton, link, setAttribute, setText } from "./dom.js";
import { fragment } from "./fragment.js";
import { plain, shown, shownLine } from "./text.js";
import { LINE, TOOL } from "./trace_data.js";

/**
 * @typedef {Object} Details
 * @property {string} id
 * @property {[string, string][]} facts
 * @property {string} arguments
 * @property {string} html The result's body, made by pi_kernel/render.
 * @property {string} json
 */

const TABS = ["Call", "Result", "JSON"];
const LOADING_MS = 300;
let nPanes = 0;

export class Pane {
  isShown = false;
  index = -1;
  tab = "Call";
  /** @type {Details | null | undefined} What is drawn. */
  drawn = undefined;
  isAsked = false;

  /**
   * @param {import("./link.js").Link} link
   * @param {() => void} close
   * @param {(index: number) => void} go
   */
  constructor(link, close, go) {
    this.link = link;
    this.go = go;
    this.id = `pi-pane-${++nPanes}`;
    this.tabs = TABS.map((name) => this.#tab(name));
    this.list = h(
      "div",
      { role: "tablist", "aria-label": "Details", class: "pi-tablist" },
      ...this.tabs,
    );
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.body = h("div", { role: "tabpanel", tabindex: 0, id: this.id, class: "pi-panebody" });
    this.el = h(
      "div",
      { class: "pane", role: "group", "aria-label": "Call details", hidden: true },
      h(
        "div",
        { class: "pi-tabs" },
        this.list,
        h("span", { class: "grow" }),
        copyButton("Copy call id", () => this.drawn?.id ?? ""),
        iconButton("Close details", "x", close),
      ),
      this.body,
    );
  }

  /** @param {string} name */
  #tab(name) {
    const props = { type: "button", role: "tab", "aria-controls": this.id };
    return h("button", { ...props, onclick: () => this.#choose(name) }, name);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (TABS.indexOf(this.tab) + step + TABS.length) % TABS.length;
    this.#choose(TABS[at]);
    this.tabs[at].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} name */
  #choose(name) {
    this.tab = name;
    this.#draw(this.drawn ?? null);
  }

  /** @param {number} index */
  show(index) {
    if (index !== this.index) {
      this.index = index;
      this.drawn = undefined;
      this.isAsked = false;
    }
    this.isShown = true;
    this.el.hidden = false;
  }

  hide() {
    this.isShown = false;
    this.el.hidden = true;
  }

  /** @param {Map<number, Details>} known @param {import("./trace_data.js").TraceData} data */
  update(known, data) {
    if (!this.isShown) return;
    this.data = data;
    const details = known.get(this.index) ?? null;
    if (!details && !this.isAsked) {
      this.isAsked = true;
      this.link.send({ type: "details", at: this.index });
    }
    if (details) this.isAsked = false;
    if (details !== this.drawn && (details || !this.drawn)) this.#draw(details);
  }

  /** @param {Details | null} details */
  #draw(details) {
    this.drawn = details;
    for (const tab of this.tabs) {
      const isChosen = tab.textContent === this.tab;
      setAttribute(tab, "aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.body.replaceChildren();
    if (!details) this.#wait();
    else if (this.tab === "Call") this.#drawCall(details);
    else if (this.tab === "Result") this.body.append(fragment(details.html));
    else this.#drawJson(details);
  }

  #wait() {
    const note = h("div", { class: "pi-empty", role: "status" });
    this.body.append(note);
    const text =
      this.link.state === "live" ? "Loading the details" : "The details were not loaded.";
    setTimeout(() => setText(note, text), LOADING_MS);
  }

  /** @param {Details} details */
  #drawCall(details) {
    const facts = h("dl", { class: "pi-kv" });
    for (const [name, value] of details.facts)
      facts.append(h("dt", {}, name), h("dd", {}, ...this.#value(name, value)));
    const given = h("pre", { class: "pi-pre wrap" }, ...shown(details.arguments));
    const side = h("div", { class: "pi-side" }, h("div", { class: "pi-lbl" }, "Arguments"), given);
    this.body.append(h("div", { class: "pi-two" }, facts, side));
  }

  /** @param {string} name @param {string} value @returns {(Node | string)[]} */
  #value(name, value) {
    if (name !== "Called by") return shown(value);
    const caller = this.data?.rows[this.index]?.[0] ?? -1;
    const row = this.data?.rows[caller];
    if (!row) return shown(value);
    const label = plain(`${row[TOOL]} ${value}`);
    return [
      link(label, () => this.go(caller)),
      " ",
      h("span", { class: "muted" }, ...shownLine(row[LINE])),
    ];
  }

  /** @param {Details} details */
  #drawJson(details) {
    const head = h(
      "div",
      { class: "pi-panehead" },
      copyButton("Copy JSON", () => details.json),
    );
    const json = h("pre", { class: "pi-pre wrap", tabindex: 0 }, ...shown(details.json));
    this.body.append(head, json);
  }
}
