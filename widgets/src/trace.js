// A trace as a tree of calls over a common time axis. However many calls there are, only the rows
// in sight are in the page.

import { button, h, icon, link, setAttribute, setText, status } from "./dom.js";
import { clock, count, counted, duration, money } from "./formats.js";
import { GONE, UNLOADED } from "./link.js";
import { plain, shownLine } from "./text.js";
import {
  endOf,
  isProblem,
  isRunning,
  KIND,
  LINE,
  QUEUED,
  RAN,
  readFilter,
  START,
  TOOL,
  TraceData,
  tickLabel,
  ticks,
  WHOLE,
  WORD,
} from "./trace_data.js";
import { Pane } from "./trace_pane.js";

const ROW_PX = 24;
const MAX_HEIGHT_PX = 480;
const MAX_SPACER_PX = 8_000_000;
const OVERSCAN_ROWS = 5;
const TICK_MS = 100;
const LABEL_FROM_MS = 100;
const LABEL_LEFT_PERCENT = 68;
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
  /** @type {Int32Array} */
  seen = new Int32Array(0);
  seenVersion = -1;
  /** @type {Map<number, HTMLElement>} Rows in the page, by node. */
  drawn = new Map();
  /** @type {[number, number] | null} What a person zoomed to. */
  zoom = null;
  isFrameWanted = false;
  isStopping = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  timer;

  /** @param {TraceStore} store @param {import("./link.js").Link} link */
  constructor(store, link) {
    this.store = store;
    this.link = link;
    this.id = `pi-trace-${++nViews}`;
    this.#makeHead();
    this.#makeGrid();
    this.pane = new Pane(
      link,
      () => this.choose(null),
      (index) => this.choose(index),
    );
    this.tokens = h("span", {});
    this.cost = h("span", {});
    this.note = h("span", { role: "status" });
    const space = h("span", { class: "grow" });
    this.foot = h("div", { class: "pi-f" }, this.note, legend(), space, this.tokens, this.cost);
    this.el = h(
      "div",
      { class: "pi-card pi-tr", role: "group", "aria-label": "Trace" },
      this.head,
      this.grid,
      this.pane.el,
      this.foot,
    );
    this.el.addEventListener("keydown", (event) => this.#key(event));
  }

  #makeHead() {
    this.calls = h("span", { class: "muted" });
    this.time = h("span", { class: "muted" });
    this.name = h("span", { class: "muted cut" });
    this.filter = h("input", {
      class: "pi-in",
      type: "search",
      placeholder: "Filter: tool:bash status:error ms>500",
      "aria-label": "Filter calls",
      oninput: () => this.#refilter(),
    });
    this.problems = button("", () => this.#toggleProblems(), {});
    this.problems.setAttribute("aria-pressed", "false");
    this.stop = button("Stop", () => this.#stop(), { kind: "stop", shape: "stop" });
    this.head = h(
      "div",
      { class: "pi-bar2 pi-trhead" },
      h("b", {}, "Trace"),
      this.name,
      this.calls,
      this.time,
      icon("search"),
      this.filter,
      this.problems,
      this.stop,
    );
  }

  #makeGrid() {
    this.axis = h("span", { class: "ax", role: "columnheader" });
    this.thead = h(
      "div",
      { class: "thead", role: "row", "aria-rowindex": 1 },
      h("span", { role: "columnheader" }, "Call"),
      h("span", { role: "columnheader" }, "Status"),
      h("span", { role: "columnheader", class: "num" }, "Time"),
      this.axis,
    );
    this.layer = h("div", { class: "pi-layer", role: "rowgroup" });
    this.spacer = h("div", { class: "pi-spacer", role: "presentation" }, this.layer);
    this.scroll = h(
      "div",
      { class: "pi-scroll", role: "presentation", onscroll: () => this.#wantFrame() },
      this.spacer,
    );
    this.scroll.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.scroll.addEventListener("pointerdown", (event) => this.#pan(event));
    this.scroll.addEventListener("dblclick", (event) => this.#fit(event));
    this.layer.addEventListener("click", (event) => this.#click(event));
    this.empty = h("div", { class: "pi-empty", hidden: true });
    this.rows = h(
      "div",
      {
        role: "treegrid",
        tabindex: 0,
        class: "pi-grid",
        "aria-label": "Calls",
        "aria-multiselectable": "false",
      },
      this.thead,
      this.scroll,
    );
    this.rows.addEventListener("focus", () => {
      if (this.chosen === null && this.seen.length) this.#mark(this.seen[0]);
    });
    this.grid = h("div", {}, this.rows, this.empty);
  }

  // -- what is shown ---------------------------------------------------------------------------

  update() {
    const { store, link } = this;
    const { data } = store;
    setText(this.name, store.title);
    this.el.setAttribute("aria-label", plain(`Trace of ${store.title}`));
    setText(this.calls, counted(data.rows.length, "call"));
    this.problems.replaceChildren(icon("error"), counted(data.problems, "problem"));
    this.problems.hidden = !data.problems && !this.isProblemsOnly;
    this.stop.hidden = !data.running || link.state !== "live";
    this.stop.disabled = this.isStopping;
    setText(this.tokens, store.tokens ? `${count(store.tokens)} tokens` : "");
    setText(this.cost, store.cost ? money(store.cost) : "");
    setText(this.note, link.state === "gone" ? GONE : link.state === "unloaded" ? UNLOADED : "");
    this.note.hidden = link.state === "live";
    if (this.seenVersion !== data.version) this.#select();
    this.pane.update(store.details, data);
    this.#keepTime(data.running > 0 && link.state === "live");
    this.redraw();
  }

  #select() {
    const { data } = this.store;
    const fits = this.#fits();
    this.seen = data.visible(fits);
    this.seenVersion = data.version;
    const isEmpty = !this.seen.length;
    this.empty.hidden = !isEmpty;
    this.rows.hidden = isEmpty;
    if (isEmpty) {
      const isFiltered = data.rows.length > 0;
      this.empty.replaceChildren(isFiltered ? NO_FIT : NO_CALLS);
      if (isFiltered)
        this.empty.append(
          " ",
          link("Clear", () => this.#clear()),
        );
    }
    setAttribute(this.rows, "aria-rowcount", String(this.seen.length + 1));
  }

  /** @returns {((index: number) => boolean) | null} */
  #fits() {
    const { data } = this.store;
    const filter = readFilter(this.filter.value, data);
    if (!this.isProblemsOnly) return filter;
    return (index) => isProblem(data.rows[index]) && (filter?.(index) ?? true);
  }

  /** Draw all rows in sight anew. */
  redraw() {
    this.drawn.clear();
    this.#axis();
    this.#draw();
  }

  #draw() {
    const height = this.seen.length * ROW_PX;
    const shownHeight = Math.min(height, MAX_SPACER_PX);
    const view = Math.min(MAX_HEIGHT_PX, height);
    setHeight(this.spacer, shownHeight);
    setHeight(this.scroll, view);
    // A scaled spacer moves through more rows than it has pixels for.
    const scale = shownHeight > view ? (height - view) / (shownHeight - view) : 1;
    const top = this.scroll.scrollTop * scale;
    const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN_ROWS);
    const last = Math.min(this.seen.length, Math.ceil((top + view) / ROW_PX) + OVERSCAN_ROWS);
    this.layer.style.transform = `translateY(${first * ROW_PX - top + this.scroll.scrollTop}px)`;
    /** @type {Map<number, HTMLElement>} */
    const kept = new Map();
    const elements = [];
    for (let i = first; i < last; i++) {
      const node = this.seen[i];
      const element = this.drawn.get(node) ?? this.#row(node, i);
      setAttribute(element, "aria-rowindex", String(i + 2));
      kept.set(node, element);
      elements.push(element);
    }
    this.drawn = kept;
    this.layer.replaceChildren(...elements);
    this.#showChosen();
    const bar = this.scroll.offsetWidth - this.scroll.clientWidth;
    setAttribute(this.thead, "style", bar > 0 ? `padding-right:${bar}px` : null);
  }

  #wantFrame() {
    if (this.isFrameWanted) return;
    this.isFrameWanted = true;
    requestAnimationFrame(() => {
      this.isFrameWanted = false;
      this.#draw();
    });
  }

  /** @returns {[number, number]} */
  get window() {
    return this.zoom ?? [0, this.store.data.endOfAll(this.store.clock())];
  }

  #axis() {
    const [from, to] = this.window;
    const room = to - from;
    const marks = ticks(from, to).map((ms) =>
      h("span", { style: { left: `${(100 * (ms - from)) / room}%` } }, tickLabel(ms, room)),
    );
    this.axis.replaceChildren(...marks.filter((_, i) => i < 7));
    this.axis.setAttribute("aria-label", `Timeline, ${duration(from)} to ${duration(to)}`);
    setText(this.time, duration(this.store.data.endOfAll(this.store.clock())));
  }

  /** @param {number} node @param {number} i */
  #row(node, i) {
    const { data } = this.store;
    const place = data.placeOf.get(node) ?? 0;
    const depth = data.depth[place];
    const hasMore = data.span[place] > 1;
    const isOpen = hasMore && !(this.#fits() === null && data.isShut(node));
    const parts = node < 0 ? this.#groupParts(node) : this.#callParts(node);
    const caret = hasMore
      ? h(
          "span",
          { class: "pi-caret", "aria-hidden": "true", "data-open": String(isOpen) },
          icon("caret"),
        )
      : h("span", { class: "sp" });
    const name = h("div", { class: "nm", role: "gridcell", style: { "--d": String(depth) } });
    name.append(caret, ...parts.name);
    return h(
      "div",
      {
        class: node < 0 ? "row grp" : "row",
        role: "row",
        id: `${this.id}-${i}`,
        "aria-level": depth + 1,
        "aria-expanded": hasMore ? String(isOpen) : null,
        "aria-selected": String(node === this.chosen),
        "data-node": node,
      },
      name,
      h("div", { class: "sts", role: "gridcell" }, parts.status),
      h("div", { class: "du", role: "gridcell" }, parts.time),
      h("div", { class: "pi-wf", role: "gridcell" }, ...parts.bars),
    );
  }

  /** @param {number} node */
  #groupParts(node) {
    const { data } = this.store;
    const group = data.groups[-1 - node];
    const now = this.store.clock();
    const [from, to] = data.timesOf(node, now);
    const failed = data.problemsBelow(node);
    const note = `${counted(data.nBelow(node), "call")}${failed ? `, ${count(failed)} failed` : ""}`;
    return {
      name: [h("b", {}, ...shownLine(group.label)), h("span", { class: "a cut" }, note)],
      status: null,
      time: duration(to - from),
      bars: [this.#bar("span", from, to)],
    };
  }

  /** @param {number} index */
  #callParts(index) {
    const { data } = this.store;
    const row = data.rows[index];
    const now = this.store.clock();
    const end = endOf(row, now);
    const runsFrom = Math.min(row[START] + row[QUEUED], end);
    const bars = [];
    if (row[QUEUED]) bars.push(this.#bar("q", row[START], runsFrom));
    if (row[KIND] === "blocked" || (row[RAN] === null && row[WHOLE] !== null))
      bars.push(this.#bar("blk", runsFrom, end));
    else if (row[KIND] !== "queued")
      bars.push(this.#bar(isRunning(row) ? "run" : isProblem(row) ? "err" : "", runsFrom, end));
    const label = labelOf(row);
    if (label) bars.push(this.#label(label, runsFrom, end));
    if (isRunning(row)) bars.push(this.#now(now));
    const time =
      row[RAN] === null ? (isRunning(row) ? clock(now - row[START]) : "") : duration(row[RAN]);
    const shut = data.nBelow(index) > 0 && data.isShut(index);
    const note = shut ? `${counted(data.nBelow(index), "call")} inside` : "";
    return {
      name: [
        h("b", {}, ...shownLine(row[TOOL])),
        h("span", { class: "a cut" }, ...shownLine(row[LINE]), note && `  ${note}`),
      ],
      status: status(row[KIND], row[WORD]),
      time,
      bars,
    };
  }

  /** @param {string} kind @param {number} from @param {number} to */
  #bar(kind, from, to) {
    const [left, right] = this.window;
    const percent = (/** @type {number} */ ms) => (100 * (ms - left)) / (right - left);
    const start = Math.max(percent(from), -1);
    const width = Math.min(percent(to), 101) - start;
    const isOut = width < 0 || start > 100;
    // A bar of 2 px must not stand outside the column.
    const place = {
      left: `min(${start.toFixed(3)}%, calc(100% - 2px))`,
      width: `${Math.max(width, 0).toFixed(3)}%`,
    };
    return h("u", { class: kind, style: isOut ? { display: "none" } : place });
  }

  /** @param {string} text @param {number} from @param {number} to */
  #label(text, from, to) {
    const [left, right] = this.window;
    const percent = (/** @type {number} */ ms) => (100 * (ms - left)) / (right - left);
    const end = percent(to);
    const side =
      end > LABEL_LEFT_PERCENT ? { right: `${100 - percent(from)}%` } : { left: `${end}%` };
    return h("em", { style: side }, text);
  }

  /** @param {number} now */
  #now(now) {
    const [left, right] = this.window;
    return h("span", {
      class: "now",
      style: { left: `calc(${(100 * (now - left)) / (right - left)}% - 1px)` },
    });
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
    for (const [node, element] of this.drawn) {
      const isChosen = node === this.chosen;
      setAttribute(element, "aria-selected", String(isChosen));
      element.classList.toggle("cur", isChosen);
      if (isChosen) active = element.id;
    }
    setAttribute(this.rows, "aria-activedescendant", active);
  }

  /** Scroll as little as it takes. @param {number} node */
  #reveal(node) {
    const index = this.seen.indexOf(node);
    if (index < 0) return;
    const height = this.seen.length * ROW_PX;
    const view = Math.min(MAX_HEIGHT_PX, height);
    const shownHeight = Math.min(height, MAX_SPACER_PX);
    const scale = shownHeight > view ? (height - view) / (shownHeight - view) : 1;
    const top = this.scroll.scrollTop * scale;
    const y = index * ROW_PX;
    if (y < top) this.scroll.scrollTop = y / scale;
    else if (y + ROW_PX > top + view) this.scroll.scrollTop = (y + ROW_PX - view) / scale;
  }

  /** Show a call below, or nothing. @param {number | null} node */
  choose(node) {
    if (node !== null && node >= 0) {
      for (let above = this.store.data.parentOf(node); above !== null; ) {
        if (this.store.data.isShut(above)) this.store.data.fold(above, true);
        above = this.store.data.parentOf(above);
      }
      if (this.seenVersion !== this.store.data.version) this.#select();
      this.#mark(node);
      this.pane.show(node);
      this.pane.update(this.store.details, this.store.data);
    } else {
      this.pane.hide();
      this.rows.focus();
    }
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = target.closest(".row");
    if (!(row instanceof HTMLElement)) return;
    const node = Number(row.dataset.node);
    const isCaret = target.closest(".pi-caret") !== null;
    if (isCaret || node < 0) this.#fold(node, this.store.data.isShut(node));
    else this.choose(node);
  }

  /** @param {number} node @param {boolean} isOpen */
  #fold(node, isOpen) {
    const { data } = this.store;
    if (data.nBelow(node) === 0) return;
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
      this.rows.focus();
    } else if (isField && event.key === "ArrowDown") this.rows.focus();
    else if (isField) return event.stopPropagation();
    else if (event.key === "/") this.filter.focus();
    else if (event.key === "Escape" && this.pane.isShown) this.choose(null);
    else if (event.target !== this.rows || !this.#gridKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event */
  #gridKey(event) {
    const { data } = this.store;
    const { seen } = this;
    const at = Math.max(0, seen.indexOf(this.chosen ?? seen[0]));
    const page = Math.floor(this.scroll.clientHeight / ROW_PX) || 1;
    const node = seen[at];
    const isShut = data.isShut(node);
    const hasMore = data.nBelow(node) > 0;
    /** @type {Record<string, number>} */
    const steps = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: seen.length - 1,
      PageDown: at + page,
      PageUp: at - page,
    };
    if (event.key in steps)
      this.#mark(seen[Math.min(Math.max(steps[event.key], 0), seen.length - 1)]);
    else if (event.key === "ArrowRight") {
      if (hasMore && isShut) this.#fold(node, true);
      else if (hasMore) this.#mark(seen[Math.min(at + 1, seen.length - 1)]);
    } else if (event.key === "ArrowLeft") {
      if (hasMore && !isShut) this.#fold(node, false);
      else this.#mark(data.parentOf(node) ?? node);
    } else if (event.key === "Enter" || event.key === " ") {
      if (node < 0) this.#fold(node, isShut);
      else this.choose(node);
    } else if (event.key === "e") this.#nextProblem(node);
    else return false;
    return true;
  }

  /** @param {number} node */
  #nextProblem(node) {
    const { data } = this.store;
    const start = data.placeOf.get(node) ?? 0;
    for (let i = 1; i <= data.order.length; i++) {
      const next = data.order[(start + i) % data.order.length];
      if (next >= 0 && isProblem(data.rows[next])) {
        const isOpen = this.pane.isShown;
        this.choose(next);
        if (!isOpen) this.pane.hide();
        return;
      }
    }
  }

  // -- filter, time, stop ----------------------------------------------------------------------

  #refilter() {
    this.scroll.scrollTop = 0;
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

  /** Where on the time axis a pointer is, from 0 to 1; null beside the axis. @param {MouseEvent} event */
  #onAxis(event) {
    const bar = this.layer.querySelector(".pi-wf");
    if (!bar) return null;
    const box = bar.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return share >= 0 && share <= 1 ? { share, width: box.width } : null;
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const on = event.ctrlKey ? this.#onAxis(event) : null;
    if (!on) return;
    event.preventDefault();
    const [from, to] = this.window;
    const room = (to - from) * (event.deltaY > 0 ? 1.25 : 0.8);
    const fixed = from + on.share * (to - from);
    const whole = this.store.data.endOfAll(this.store.clock());
    const start = Math.max(0, fixed - on.share * room);
    this.zoom = room >= whole ? null : [start, start + Math.max(room, 0.01)];
    this.redraw();
  }

  /** @param {PointerEvent} event */
  #pan(event) {
    const on = this.zoom && event.button === 0 ? this.#onAxis(event) : null;
    if (!on || !this.zoom) return;
    const [from, to] = this.zoom;
    const startX = event.clientX;
    const move = (/** @type {PointerEvent} */ moved) => {
      const by = ((startX - moved.clientX) / on.width) * (to - from);
      const start = Math.max(0, from + by);
      this.zoom = [start, start + to - from];
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
    if (!this.zoom || !this.#onAxis(event)) return;
    this.zoom = null;
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
    this.timer = isNeeded
      ? setInterval(() => {
          if (!document.hidden && this.el.isConnected) this.redraw();
        }, TICK_MS)
      : undefined;
  }

  close() {
    this.#keepTime(false);
  }
}

/** What no column says. @param {import("./trace_data.js").Row} row */
function labelOf(row) {
  if (row[KIND] === "queued") return "queued";
  if (row[QUEUED] >= LABEL_FROM_MS) return `${duration(row[QUEUED])} queued`;
  return row[RAN] === null && row[WHOLE] !== null ? "did not run" : "";
}

/** @param {HTMLElement} element @param {number} px */
function setHeight(element, px) {
  const height = `${px}px`;
  if (element.style.height !== height) element.style.height = height;
}

function legend() {
  const items = [
    ["", "ran"],
    ["q", "queued"],
    ["err", "failed"],
    ["blk", "did not run"],
  ];
  return h(
    "span",
    { class: "pi-leg" },
    ...items.map(([kind, word]) => h("span", {}, h("u", { class: kind }), word)),
  );
}
