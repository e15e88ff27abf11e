// What a view knows of one call, and what follows from that.

import { h } from "./dom.js";
import { shownLine } from "./text.js";

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

/** @type {Record<string, string>} */
const SHAPES_OF_KINDS = { running: "run" };
const FAILED = new Set(["error", "invalid", "notfound", "timeout", "blocked"]);

/** The name of the shape for a status. @param {string} kind */
export function shapeOf(kind) {
  return SHAPES_OF_KINDS[kind] ?? kind;
}

/** @param {{kind: string}} call */
export function isGoing(call) {
  return call.kind === "running" || call.kind === "queued";
}

/** @param {{kind: string}} call */
export function hasFailed(call) {
  return FAILED.has(call.kind);
}

/** A path keeps its last part when there is little room. @param {Call} call @returns {(Node | string)[]} */
export function argumentParts(call) {
  if (!call.isPath) return [h("span", { class: "x" }, ...shownLine(call.line))];
  const cut = call.line.lastIndexOf("/") + 1;
  const file = h("span", { class: "t" }, ...shownLine(call.line.slice(cut)));
  const folder = call.line.slice(0, cut);
  return folder ? [h("span", { class: "h" }, ...shownLine(folder)), file] : [file];
}
