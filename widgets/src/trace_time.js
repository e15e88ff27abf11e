// The time axis of a trace: what part of it is seen, its labels, and where a time stands on it.

import { h, setAttribute, setStyle } from "./dom.js";
import { duration } from "./formats.js";

const SLACK = 1.02;
const MIN_ROOM_MS = 0.01;
const LABEL_PX = 44;
const MAX_LABELS = 7;

export class TimeAxis {
  /** @type {[number, number] | null} What a person zoomed to. */
  zoom = null;
  end = 1;

  constructor() {
    this.el = h("span", { class: "ax", role: "columnheader" });
  }

  /** @returns {[number, number]} */
  get window() {
    return this.zoom ?? [0, this.end * SLACK];
  }

  /** @param {number} ms */
  percent(ms) {
    const [from, to] = this.window;
    return (100 * (ms - from)) / (to - from);
  }

  /** Show the axis; the lines in the rows stand where its labels do. @param {HTMLElement} rows */
  draw(rows) {
    const [from, to] = this.window;
    const marks = ticks(from, to);
    const width = this.el.clientWidth || MAX_LABELS * LABEL_PX;
    const every = Math.ceil((marks.length * LABEL_PX) / width);
    const key = [width, from, to].join();
    if (key === this.key) return;
    this.key = key;
    const labels = marks.map((ms, i) => {
      const left = this.percent(ms);
      const isCut = (width * (100 - left)) / 100 < LABEL_PX;
      const text = i % every || isCut ? "" : tickLabel(ms, to - from);
      return h("span", { style: { left: `${left.toFixed(3)}%` } }, text);
    });
    this.el.replaceChildren(...labels);
    setAttribute(this.el, "aria-label", `Timeline, ${duration(from)} to ${duration(to)}`);
    const step = marks.length > 1 ? this.percent(marks[1]) - this.percent(marks[0]) : 100;
    // A background's position in percent is of the room that its size leaves.
    const first = step < 100 ? this.percent(marks[0]) / (1 - step / 100) : 0;
    setStyle(rows, { "--step": `${step}%`, "--from": `${first}%` });
  }

  key = "";

  /** @param {number} share Of the width, which stays where it is. @param {number} factor */
  zoomBy(share, factor) {
    const [from, to] = this.window;
    const room = Math.max((to - from) * factor, MIN_ROOM_MS);
    const start = Math.max(0, from + share * (to - from - room));
    this.zoom = room >= this.end * SLACK ? null : [start, start + room];
  }

  /** @param {number} ms */
  moveTo(ms) {
    if (!this.zoom) return;
    const start = Math.max(0, ms);
    this.zoom = [start, start + this.zoom[1] - this.zoom[0]];
  }
}

/**
 * The labels of an axis: 4 to 6 of 1, 2 or 5 times a power of ten.
 * @param {number} from
 * @param {number} to
 * @returns {number[]}
 */
export function ticks(from, to) {
  const room = Math.max(to - from, 1e-3);
  const power = 10 ** Math.floor(Math.log10(room / 5));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => room / n <= 6) ?? room;
  const found = [];
  const first = Math.ceil(from / step - 1e-9) || 0;
  for (let n = first; n * step <= to + step * 1e-9; n++) found.push(n * step);
  return found;
}

/** @param {number} ms @param {number} room */
export function tickLabel(ms, room) {
  if (room < 1000) return `${Number(ms.toPrecision(6))} ms`;
  if (room < 120_000) return `${Number((ms / 1000).toPrecision(6))} s`;
  if (room < 7_200_000) return `${Number((ms / 60_000).toPrecision(6))} min`;
  return `${Number((ms / 3_600_000).toPrecision(6))} h`;
}
