// A trace as a tree of calls over a common time axis. However many calls there are, only the rows
// in sight are in the page.

import { button, h, icon, link, placeChildren, setAttribute, setText } from "./dom.js";
import { count, counted, duration, money } from "./formats.js";
import { GONE, UNLOADED } from "./link.js";
import { plain } from "./text.js";
import { isProblem, KIND, QUEUED, RAN, readFilter, TraceData, WHOLE } from "./trace_data.js";
import { Pane } from "./trace_pane.js";
import { TraceRow } from "./trace_row.js";
import { TimeAxis } from "./trace_time.js";

const ROW_PX = 24;
const HEAD_PX = 24;
const MAX_HEIGHT_PX = 480;
const MAX_SPACER_PX = 8_000_000;
const OVERSCAN_ROWS = 5;
const TICK_MS = 100;
const ZOOM_OUT = 1.25;
const NO_CALLS = "No calls yet. Calls made by cells and models appear here.";
const NO_FIT = "No call fits this filter.";

class TraceStore {
  data = new TraceData();
  title = "";
  /** The kernel's clock when `at` was, both in ms. */
  now = 0;
  at = 0;
  tokens = 0;
  cost = 0;
  /** @type {Map<number, any>} By call: what was asked for to be looked at. */
  details = new Map();

  /** @param {any} message */
  receive(message) {
    if (message.type === "details") this.details.set(message.at, message);
    if (message.type === "rows") this.data.add(message.from, message.rows, message.groups);
    else if (message.type === "changes") this.data.change(message.at, message.rows);
    else return;
    for (const index of message.at ?? []) this.details.delete(index);
    Object.assign(this, { now: message.now, at: performance.now() });
    Object.assign(this, { tokens: message.tokens, cost: message.cost, title: message.title });
  }

  clock() {
    return this.now + (this.data.running ? performance.now() - this.at : 0);
  }

  /** @param {import("./link.js").Link} link */
  makeView(link) {
    return new TraceView(this, link);
  }
}

export function makeTrace() {
  return new TraceStore();
}

let nViews = 0;

class TraceView {
  /** @type {number | null} The chosen node. */
  chosen = null;
  isProblemsOnly = false;
  /** @type {Int32Array} Nodes to scroll through. */
  seen = new Int32Array(0);
  seenVersion = -1;
  isFiltered = false;
  /** @type {Map<number, TraceRow>} Rows in the page, by node. */
  drawn = new Map();
  isFrameWanted = false;
  /** How far a person scrolled. */
  top = 0;
  isStopping = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer;

  /** @param {TraceStore} store @param {import("./link.js").Link} link */
  constructor(store, link) {
    this.store = store;
    this.link = link;
    this.id = `pi-trace-${++nViews}`;
    this.axis = new TimeAxis();

    this.calls = h("span", { class: "muted" });
    this.time = h("span", { class: "muted" });
    this.name = h("span", { class: "muted cut" });
    this.filter = h("input", {
      class: "pi-in",
      placeholder: "Filter: tool:bash status:error ms>500",
      "aria-label": "Filter calls",
      oninput: () => this.#refilter(),
    });
    this.problems = button("", () => this.#toggleProblems(), {});
    this.problems.setAttribute("aria-pressed", "false");
    this.stop = button("Stop", () => this.#stop(), { kind: "stop", shape: "stop" });
    const title = h("b", {}, "Trace");
    this.head = h("div", { class: "pi-bar2 pi-trhead" }, title, this.name, this.calls, this.time);
    this.head.append(icon("search"), this.filter, this.problems, this.stop);

    this.thead = h(
      "div",
      { class: "thead", role: "row", "aria-rowindex": 1 },
      h("span", { role: "columnheader" }, "Call"),
      h("span", { role: "columnheader" }, "Status"),
      h("span", { role: "columnheader", class: "num" }, "Time"),
      this.axis.el,
    );
    this.layer = h("div", { class: "pi-layer", role: "rowgroup" });
    this.spacer = h("div", { class: "pi-spacer", role: "presentation" }, this.layer);
    this.layer.addEventListener("click", (event) => this.#click(event));
    const props = { role: "treegrid", tabindex: 0, class: "pi-grid", "aria-label": "Calls" };
    this.grid = h("div", props, this.thead, this.spacer);
    this.grid.addEventListener("scroll", () => this.#wantFrame());
    this.grid.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.grid.addEventListener("pointerdown", (event) => this.#pan(event));
    this.grid.addEventListener("dblclick", (event) => this.#fit(event));
    this.grid.addEventListener("focus", () => {
      const isByKey = this.grid.matches(":focus-visible");
      if (this.chosen === null && isByKey && this.seen.length) this.#mark(this.seen[0]);
    });
    this.empty = h("div", { class: "pi-empty", hidden: true });

    this.pane = new Pane(
      link,
      () => this.choose(null),
      (index) => this.choose(index),
    );
    this.tokens = h("span", {});
    this.cost = h("span", {});
    this.note = h("span", { role: "status" });
    this.legend = h("span", { class: "pi-leg" });
    const space = h("span", { class: "grow" });
    const facts = [this.note, this.legend, space, this.tokens, this.cost];
    this.foot = h("div", { class: "pi-f" }, ...facts);
    const parts = [this.head, this.grid, this.empty, this.pane.el, this.foot];
    this.el = h("div", { class: "pi-card pi-tr", role: "group" }, ...parts);
    this.el.addEventListener("keydown", (event) => this.#key(event));
    this.resized = new ResizeObserver(() => this.redraw());
    this.resized.observe(this.el);
  }

  // -- what is shown ---------------------------------------------------------------------------

  update() {
    const { store, link } = this;
    const { data } = store;
    setText(this.name, plain(store.title));
    setAttribute(this.el, "aria-label", plain(`Trace of ${store.title}`));
    setText(this.calls, counted(data.rows.length, "call"));
    this.problems.replaceChildren(icon("error"), counted(data.problems, "problem"));
    this.problems.hidden = !data.problems && !this.isProblemsOnly;
    this.stop.hidden = !data.running || link.state !== "live";
    this.stop.disabled = this.isStopping;
    setText(this.tokens, store.tokens ? `${count(store.tokens)} tokens` : "");
    setText(this.cost, store.cost ? money(store.cost) : "");
    setText(this.note, link.state === "gone" ? GONE : link.state === "unloaded" ? UNLOADED : "");
    this.note.hidden = link.state === "live";
    this.foot.classList.toggle("pi-lost", link.state !== "live");
    if (link.state === "gone") data.end();
    if (this.seenVersion !== data.version) {
      this.#select();
      this.legend.replaceChildren(...legendOf(data.rows));
    }
    this.pane.update(store.details, data);
    this.#keepTime(data.running > 0 && link.state === "live");
    this.redraw();
  }

  #select() {
    const { data } = this.store;
    const fits = this.#fits();
    this.isFiltered = fits !== null;
    this.seen = data.visible(fits);
    this.seenVersion = data.version;
    const isEmpty = !this.seen.length;
    this.empty.hidden = !isEmpty;
    this.grid.hidden = isEmpty;
    if (isEmpty) {
      this.empty.replaceChildren(data.rows.length ? NO_FIT : NO_CALLS);
      if (data.rows.length)
        this.empty.append(
          " ",
          link("Clear", () => this.#clear()),
        );
    }
    setAttribute(this.grid, "aria-rowcount", String(this.seen.length + 1));
  }

  /** @returns {((index: number) => boolean) | null} */
  #fits() {
    const { data } = this.store;
    const filter = readFilter(this.filter.value, data);
    if (!this.isProblemsOnly) return filter;
    return (index) => isProblem(data.rows[index]) && (filter?.(index) ?? true);
  }

  /** Show times, bars and rows as they are now. */
  redraw() {
    const { data } = this.store;
    const now = this.store.clock();
    this.axis.end = data.endOfAll(now);
    this.axis.draw(this.layer);
    setText(this.time, duration(this.axis.end));
    for (const [node, row] of this.drawn) {
      if (data.placeOf.has(node)) row.update(this.#isOpen(node), now);
      else this.drawn.delete(node);
    }
    this.#draw();
  }

  /** @param {number} node */
  #isOpen(node) {
    return this.isFiltered || !this.store.data.isShut(node);
  }

  /** Pixels of all rows, of the spacer and of the part in sight; rows that a pixel of scrolling moves. */
  #measure() {
    const height = this.seen.length * ROW_PX;
    const spacer = Math.min(height, MAX_SPACER_PX);
    const view = Math.min(MAX_HEIGHT_PX, height);
    const scale = spacer > view ? (height - view) / (spacer - view) : 1;
    return { spacer, view, scale };
  }

  #draw() {
    const { spacer, view, scale } = this.#measure();
    setHeight(this.spacer, spacer);
    setHeight(this.grid, view + HEAD_PX);
    const { scrollTop } = this.grid;
    const top = scrollTop * scale;
    const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN_ROWS);
    const last = Math.min(this.seen.length, Math.ceil((top + view) / ROW_PX) + OVERSCAN_ROWS);
    this.layer.style.transform = `translateY(${first * ROW_PX - top + scrollTop}px)`;
    /** @type {Map<number, TraceRow>} */
    const kept = new Map();
    for (let i = first; i < last; i++) {
      const node = this.seen[i];
      const row = this.drawn.get(node) ?? this.#makeRow(node);
      setAttribute(row.el, "aria-rowindex", String(i + 2));
      kept.set(node, row);
    }
    this.drawn = kept;
    placeChildren(
      this.layer,
      [...kept.values()].map(({ el }) => el),
    );
    this.#showChosen();
  }

  /** @param {number} node */
  #makeRow(node) {
    const row = new TraceRow(node, this.store.data, this.axis);
    row.el.id = `${this.id}-${node}`;
    row.update(this.#isOpen(node), this.store.clock());
    return row;
  }

  #wantFrame() {
    if (this.isFrameWanted) return;
    this.isFrameWanted = true;
    requestAnimationFrame(() => {
      this.isFrameWanted = false;
      if (!this.el.isConnected) return;
      this.top = this.grid.scrollTop;
      this.#draw();
    });
  }

  moved() {
    this.grid.scrollTop = this.top;
    this.#draw();
  }

  // -- choosing --------------------------------------------------------------------------------

  /** @param {number} node */
  #mark(node) {
    this.chosen = node;
    this.#reveal(node);
    this.#draw();
  }

  #showChosen() {
    let active = null;
    for (const [node, { el }] of this.drawn) {
      const isChosen = node === this.chosen;
      setAttribute(el, "aria-selected", String(isChosen));
      el.classList.toggle("cur", isChosen);
      if (isChosen) active = el.id;
    }
    setAttribute(this.grid, "aria-activedescendant", active);
  }

  /** Scroll as little as it takes. @param {number} node */
  #reveal(node) {
    const index = this.seen.indexOf(node);
    if (index < 0) return;
    const { view, scale } = this.#measure();
    const top = this.grid.scrollTop * scale;
    const y = index * ROW_PX;
    if (y < top) this.grid.scrollTop = y / scale;
    else if (y + ROW_PX > top + view) this.grid.scrollTop = (y + ROW_PX - view) / scale;
  }

  /** Show a call in the pane, or none. @param {number | null} node */
  choose(node) {
    if (node === null) {
      this.pane.hide();
      this.grid.focus();
      return;
    }
    this.#unfold(node);
    this.#mark(node);
    this.pane.show(node);
    this.pane.update(this.store.details, this.store.data);
  }

  /** Open what a node is hidden in. @param {number} node */
  #unfold(node) {
    const { data } = this.store;
    for (let above = data.parentOf(node); above !== null; above = data.parentOf(above))
      if (data.isShut(above)) data.fold(above, true);
    if (this.seenVersion !== data.version) {
      this.#select();
      this.redraw();
    }
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = target.closest(".row");
    if (!(row instanceof HTMLElement)) return;
    const node = Number(row.dataset.node);
    if (target.closest(".pi-caret") || node < 0) this.#fold(node, !this.#isOpen(node));
    else this.choose(node);
  }

  /** @param {number} node @param {boolean} isOpen */
  #fold(node, isOpen) {
    const { data } = this.store;
    if (data.nBelow(node) === 0 || this.isFiltered) return;
    data.fold(node, isOpen);
    this.chosen = node;
    this.#select();
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isField = event.target === this.filter;
    if (isField && event.key === "Escape") {
      this.#clear();
      this.grid.focus();
    } else if (isField && event.key === "ArrowDown") this.grid.focus();
    else if (isField) {
      event.stopPropagation();
      return;
    } else if (event.key === "/") this.filter.focus();
    else if (event.key === "Escape" && this.pane.isShown) this.choose(null);
    else if (event.target !== this.grid || !this.#gridKey(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} key */
  #gridKey(key) {
    const { seen } = this;
    const at = Math.max(0, seen.indexOf(this.chosen ?? seen[0]));
    const page = Math.floor(this.grid.clientHeight / ROW_PX) - 1 || 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page }[key];
    const ends = { Home: 0, End: seen.length - 1 }[key];
    const next = to ?? ends;
    if (next !== undefined) this.#mark(seen[Math.min(Math.max(next, 0), seen.length - 1)]);
    else if (key === "ArrowRight" || key === "ArrowLeft") this.#sideKey(key, at);
    else if (key === "Enter" || key === " ") this.#enter(seen[at]);
    else if (key === "e") this.#nextProblem(seen[at]);
    else return false;
    return true;
  }

  /** @param {string} key @param {number} at */
  #sideKey(key, at) {
    const node = this.seen[at];
    const { data } = this.store;
    const hasMore = data.nBelow(node) > 0;
    const isOpen = this.#isOpen(node);
    if (key === "ArrowRight") {
      if (hasMore && !isOpen) this.#fold(node, true);
      else if (hasMore) this.#mark(this.seen[Math.min(at + 1, this.seen.length - 1)]);
    } else if (hasMore && isOpen && !this.isFiltered) this.#fold(node, false);
    else this.#mark(data.parentOf(node) ?? node);
  }

  /** @param {number} node */
  #enter(node) {
    if (node < 0) this.#fold(node, !this.#isOpen(node));
    else this.choose(node);
  }

  /** @param {number} node */
  #nextProblem(node) {
    const { order, rows, placeOf } = this.store.data;
    const start = placeOf.get(node) ?? 0;
    for (let i = 1; i <= order.length; i++) {
      const next = order[(start + i) % order.length];
      if (next < 0 || !isProblem(rows[next])) continue;
      this.#unfold(next);
      this.#mark(next);
      if (this.pane.isShown) this.choose(next);
      return;
    }
  }

  // -- filter, time, stop ----------------------------------------------------------------------

  #refilter() {
    this.grid.scrollTop = 0;
    this.#select();
    this.redraw();
  }

  #clear() {
    this.filter.value = "";
    this.isProblemsOnly = false;
    this.problems.setAttribute("aria-pressed", "false");
    this.#refilter();
  }

  #toggleProblems() {
    this.isProblemsOnly = !this.isProblemsOnly;
    this.problems.setAttribute("aria-pressed", String(this.isProblemsOnly));
    this.#refilter();
  }

  /** Where on the axis a pointer is, from 0 to 1; null beside it. @param {MouseEvent} event */
  #onAxis(event) {
    const box = this.axis.el.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return share >= 0 && share <= 1 ? { share, width: box.width } : null;
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const on = event.ctrlKey ? this.#onAxis(event) : null;
    if (!on) return;
    event.preventDefault();
    this.axis.zoomBy(on.share, event.deltaY > 0 ? ZOOM_OUT : 1 / ZOOM_OUT);
    this.redraw();
  }

  /** @param {PointerEvent} event */
  #pan(event) {
    const on = this.axis.zoom && event.button === 0 ? this.#onAxis(event) : null;
    if (!on) return;
    const [from, to] = this.axis.window;
    const move = (/** @type {PointerEvent} */ moved) => {
      this.axis.moveTo(from + ((event.clientX - moved.clientX) / on.width) * (to - from));
      this.redraw();
    };
    const end = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
  }

  /** @param {MouseEvent} event */
  #fit(event) {
    if (!this.axis.zoom || !this.#onAxis(event)) return;
    this.axis.zoom = null;
    this.redraw();
  }

  #stop() {
    this.isStopping = true;
    this.link.send({ type: "stop" });
    this.update();
  }

  /** @param {boolean} isNeeded */
  #keepTime(isNeeded) {
    if (!isNeeded) this.isStopping = false;
    if (isNeeded === Boolean(this.timer)) return;
    clearInterval(this.timer);
    this.timer = isNeeded ? setInterval(() => this.#tick(), TICK_MS) : undefined;
  }

  #tick() {
    if (!document.hidden && this.el.isConnected) this.redraw();
  }

  close() {
    this.#keepTime(false);
    this.resized.disconnect();
  }
}

/** @param {HTMLElement} element @param {number} px */
function setHeight(element, px) {
  const height = `${px}px`;
  if (element.style.height !== height) element.style.height = height;
}

/** What the bars stand for, as far as they occur. @param {import("./trace_data.js").Row[]} rows */
function legendOf(rows) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const row of rows) {
    if (row[QUEUED] || row[KIND] === "queued") found.q = "queued";
    if (row[RAN] === null && row[WHOLE] !== null) found.blk = "did not run";
    else if (isProblem(row)) found.err = "failed";
    else if (row[WHOLE] === null) found.run = "running";
    else found.ran = "ran";
  }
  return ["ran", "run", "q", "err", "blk"]
    .filter((kind) => found[kind])
    .map((kind) => h("span", {}, h("u", { class: kind }), found[kind]));
}
