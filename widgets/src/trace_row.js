// One row of a trace: a call, or a cell or turn with its calls below. Rows that change while a
// trace is live keep their elements, so that a click in between still finds them.

import { h, icon, setAttribute, setStyle, setText, status } from "./dom.js";
import { clock, count, counted, duration } from "./formats.js";
import { plain, shownLine } from "./text.js";
import {
  endOf,
  isProblem,
  isRunning,
  KIND,
  LINE,
  QUEUED,
  RAN,
  START,
  TOOL,
  WHOLE,
  WORD,
} from "./trace_data.js";

const LABEL_FROM_MS = 100;
const LABEL_LEFT_PERCENT = 68;
const MAX_TITLE_CHARS = 1000;

export class TraceRow {
  /** What was drawn, so that it is drawn again only when it differs. */
  drawnName = "";
  drawnStatus = "";

  /**
   * @param {number} node
   * @param {import("./trace_data.js").TraceData} data
   * @param {import("./trace_time.js").TimeAxis} axis
   */
  constructor(node, data, axis) {
    this.node = node;
    this.data = data;
    this.axis = axis;
    this.name = h("div", { class: "nm", role: "gridcell" });
    this.status = h("div", { class: "sts", role: "gridcell" });
    this.time = h("div", { class: "du", role: "gridcell" });
    this.bars = h("div", { class: "pi-wf", role: "gridcell" });
    const props = { class: node < 0 ? "row grp" : "row", role: "row", "data-node": node };
    this.el = h("div", props, this.name, this.status, this.time, this.bars);
  }

  /** @param {boolean} isOpen Whether what is below it is shown. @param {number} now */
  update(isOpen, now) {
    const { data, node } = this;
    const place = data.placeOf.get(node) ?? 0;
    const nBelow = data.span[place] - 1;
    const key = `${data.depth[place]} ${nBelow} ${isOpen} ${node < 0 ? data.problemsBelow(node) : ""}`;
    if (key !== this.drawnName) {
      this.drawnName = key;
      this.#drawName(data.depth[place], nBelow, isOpen);
    }
    if (node < 0) this.#updateGroup(now);
    else this.#updateCall(data.rows[node], now);
  }

  /** @param {number} depth @param {number} nBelow @param {boolean} isOpen */
  #drawName(depth, nBelow, isOpen) {
    const { el, name, node, data } = this;
    setAttribute(el, "aria-level", String(depth + 1));
    setAttribute(el, "aria-expanded", nBelow ? String(isOpen) : null);
    setStyle(name, { "--d": String(depth) });
    const props = { class: "pi-caret", "aria-hidden": "true", "data-open": String(isOpen) };
    const caret = nBelow ? h("span", props, icon("caret")) : h("span", { class: "sp" });
    const failed = nBelow && !isOpen ? data.problemsBelow(node) : 0;
    const more = `${counted(nBelow, "call")}${failed ? `, ${count(failed)} failed` : ""}`;
    if (node < 0) {
      const all = data.problemsBelow(node);
      const note = `${counted(nBelow, "call")}${all ? `, ${count(all)} failed` : ""}`;
      const label = h("b", {}, ...shownLine(data.groups[-1 - node].label));
      name.replaceChildren(caret, label, h("span", { class: "a cut" }, note));
      return;
    }
    const row = data.rows[node];
    const line = h("span", { class: "a cut" }, ...shownLine(row[LINE]));
    name.title = plain(`${row[TOOL]} ${row[LINE]}`).slice(0, MAX_TITLE_CHARS);
    name.replaceChildren(caret, h("b", {}, ...shownLine(row[TOOL])), line);
    if (nBelow && !isOpen) name.append(h("span", { class: "pi-tag" }, `${more} inside`));
  }

  /** @param {number} now */
  #updateGroup(now) {
    const [from, to] = this.data.timesOf(this.node, now);
    setText(this.time, duration(to - from));
    this.bars.replaceChildren(this.#bar("span", from, to));
  }

  /** @param {import("./trace_data.js").Row} row @param {number} now */
  #updateCall(row, now) {
    if (row[KIND] + row[WORD] !== this.drawnStatus) {
      this.drawnStatus = row[KIND] + row[WORD];
      this.status.replaceChildren(status(row[KIND], row[WORD]));
    }
    const ran = row[RAN];
    const goes = isRunning(row) ? clock(now - row[START]) : "";
    setText(this.time, ran === null ? goes : duration(ran));
    this.#drawBars(row, now);
  }

  /** @param {import("./trace_data.js").Row} row @param {number} now */
  #drawBars(row, now) {
    const end = endOf(row, now);
    const runsFrom = row[KIND] === "queued" ? end : Math.min(row[START] + row[QUEUED], end);
    const bars = [];
    if (runsFrom > row[START]) bars.push(this.#bar("q", row[START], runsFrom));
    if (row[RAN] === null && row[WHOLE] !== null) bars.push(this.#bar("blk", runsFrom, end));
    else if (row[KIND] !== "queued")
      bars.push(this.#bar(isRunning(row) ? "run" : isProblem(row) ? "err" : "", runsFrom, end));
    const label = labelOf(row);
    if (label) bars.push(this.#label(label, row[START], end));
    if (isRunning(row)) {
      const left = `calc(${this.axis.percent(now).toFixed(3)}% - 1px)`;
      bars.push(h("span", { class: "now", style: { left } }));
    }
    this.bars.replaceChildren(...bars);
  }

  /** @param {string} kind @param {number} from @param {number} to */
  #bar(kind, from, to) {
    const start = Math.max(this.axis.percent(from), -1);
    const width = Math.min(this.axis.percent(to), 101) - start;
    if (width < 0 || start > 100) return h("u", { class: kind, style: { display: "none" } });
    // The least width of a bar must not stand outside of the column.
    const left = `min(${start.toFixed(3)}%, calc(100% - 3px))`;
    return h("u", { class: kind, style: { left, width: `${width.toFixed(3)}%` } });
  }

  /** @param {string} text @param {number} from @param {number} to */
  #label(text, from, to) {
    const end = this.axis.percent(to);
    const right = `${(100 - this.axis.percent(from)).toFixed(3)}%`;
    const style = end > LABEL_LEFT_PERCENT ? { right } : { left: `${end.toFixed(3)}%` };
    return h("em", { style: /** @type {any} */ (style) }, text);
  }
}

/** What no column says. @param {import("./trace_data.js").Row} row */
function labelOf(row) {
  if (row[KIND] === "queued") return "";
  if (row[QUEUED] >= LABEL_FROM_MS) return `${duration(row[QUEUED])} queued`;
  return row[RAN] === null && row[WHOLE] !== null ? "did not run" : "";
}
