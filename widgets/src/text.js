// Text of machines: hidden characters become visible tags, terminal colours become classes.

import { h } from "./dom.js";
import { count, counted } from "./formats.js";

// As pi_kernel/render/_text.py has it; both are checked against tests/widgets/texts.json.
const HIDDEN =
  /([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e01ef}]|(?<![\u0600-\u0fff\u2600-\u27bf\ufe0f\u{1f000}-\u{1faff}])[\u200c\u200d])\1*/gu;
const ESCAPES =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;
const COLOURS = /^\x1b\[([0-9;:]*)m$/;
const MAX_PARAMETERS = 32;
const LINE_END = "⏎ ";

/** What stands for a run of one hidden character. @param {string} run */
function nameOf(run) {
  const point = run.codePointAt(0) ?? 0;
  const times = run.length / String.fromCodePoint(point).length;
  const name = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  return times === 1 ? name : `${name} x ${count(times)}`;
}

/** @param {string} text @returns {Generator<[string, boolean]>} */
function* pieces(text) {
  let position = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > position) yield [text.slice(position, match.index), false];
    position = match.index + match[0].length;
    yield [nameOf(match[0]), true];
  }
  if (position < text.length) yield [text.slice(position), false];
}

/** Nodes that show a text with its hidden characters as tags. @param {string} text @returns {(Node | string)[]} */
export function shown(text) {
  return [...pieces(text)].map(([piece, isHidden]) =>
    isHidden ? h("span", { class: "pi-tag" }, piece) : piece,
  );
}

/** The same where only text can stand, such as in a tooltip. @param {string} text */
export function plain(text) {
  return [...pieces(text)].map(([piece, isHidden]) => (isHidden ? `[${piece}]` : piece)).join("");
}

/** Nodes of a text on one line; the marks of its line ends are faint. @param {string} text @returns {(Node | string)[]} */
export function shownLine(text) {
  const parts = text.split(LINE_END);
  return parts.flatMap((part, index) => [
    ...(index ? [h("span", { class: "faint" }, LINE_END)] : []),
    ...shown(part),
  ]);
}

/** @param {string} text */
export function stripEscapes(text) {
  return text.replace(ESCAPES, "");
}

/** What a terminal shows of a line that went back to its start. @param {string} line @returns {[string, number]} */
export function lastDrawn(line) {
  if (!line.includes("\r")) return [line, 0];
  const parts = line.split("\r").filter(Boolean);
  return parts.length ? [parts[parts.length - 1], parts.length - 1] : ["", 0];
}

/**
 * Nodes of terminal output. A colour stays on until the output changes it.
 * @param {string[]} lines
 * @returns {(Node | string)[]}
 */
export function terminal(lines) {
  const pen = new Pen();
  return lines.flatMap((line, index) => [...(index ? ["\n"] : []), ...terminalLine(line, pen)]);
}

/** @param {string} line @param {Pen} pen @returns {(Node | string)[]} */
function terminalLine(line, pen) {
  const [text, redrawn] = lastDrawn(line);
  if (!redrawn) return runs(text, pen);
  runs(line.slice(0, line.length - text.length), pen);
  const tag = h("span", { class: "pi-tag" }, counted(redrawn, "redraw"));
  return [tag, " ", ...runs(text, pen)];
}

/** @param {string} line @param {Pen} pen @returns {(Node | string)[]} */
function runs(line, pen) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  let position = 0;
  for (const match of line.matchAll(ESCAPES)) {
    if (match.index > position) nodes.push(...pen.wrap(line.slice(position, match.index)));
    position = match.index + match[0].length;
    const colours = COLOURS.exec(match[0]);
    if (colours) pen.apply(colours[1]);
  }
  if (position < line.length) nodes.push(...pen.wrap(line.slice(position)));
  return nodes;
}

const BASIC = ["aD", "aR", "aG", "aY", "aB", "aM", "aC", ""];

/** What the escape sequences so far have switched on. */
class Pen {
  colour = "";
  isBold = false;
  isFaint = false;
  isItalic = false;
  isUnderlined = false;

  /** @param {string} text @returns {(Node | string)[]} */
  wrap(text) {
    const names = [
      this.colour,
      this.isBold && "aB1",
      this.isFaint && "aF",
      this.isItalic && "aI",
      this.isUnderlined && "aU",
    ].filter(Boolean);
    const nodes = shown(text);
    return names.length ? [h("span", { class: names.join(" ") }, ...nodes)] : nodes;
  }

  /** Obey one SGR sequence. @param {string} parameters */
  apply(parameters) {
    const codes = parameters.split(/[;:]/, MAX_PARAMETERS).map((part) => Number(part.slice(0, 3)));
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i];
      if (code === 38 || code === 48) i = this.#extended(codes, i, code === 38);
      else this.#switch(code);
    }
  }

  /** @param {number} code */
  #switch(code) {
    if (code === 0) Object.assign(this, new Pen());
    else if (code === 1) this.isBold = true;
    else if (code === 2) this.isFaint = true;
    else if (code === 3) this.isItalic = true;
    else if (code === 4) this.isUnderlined = true;
    else if (code === 22) this.isBold = this.isFaint = false;
    else if (code === 23) this.isItalic = false;
    else if (code === 24) this.isUnderlined = false;
    else if (code === 39) this.colour = "";
    else if (code >= 30 && code < 38) this.colour = BASIC[code - 30];
    else if (code >= 90 && code < 98) this.colour = BASIC[code - 90];
  }

  /** Colours of the table and of three channels become the nearest of ours. @param {number[]} codes @param {number} i @param {boolean} isFore */
  #extended(codes, i, isFore) {
    let colour = "";
    let used = i;
    if (codes[i + 1] === 5) {
      colour = ofTable(codes[i + 2] ?? 0);
      used = i + 2;
    } else if (codes[i + 1] === 2) {
      colour = nearest(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0);
      used = i + 4;
    }
    if (isFore) this.colour = colour;
    return used;
  }
}

/** @param {number} index */
function ofTable(index) {
  if (index < 16) return BASIC[index % 8];
  if (index >= 232) return index < 244 ? "aD" : "";
  const cube = index - 16;
  return nearest(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51);
}

const GREY_SPREAD = 40;

/** @param {number} red @param {number} green @param {number} blue */
function nearest(red, green, blue) {
  const most = Math.max(red, green, blue);
  const spread = most - Math.min(red, green, blue);
  if (spread < GREY_SPREAD) return most < 128 ? "aD" : "";
  const turn =
    most === red
      ? ((green - blue) / spread + 6) % 6
      : most === green
        ? (blue - red) / spread + 2
        : (red - green) / spread + 4;
  return ["aR", "aY", "aG", "aC", "aB", "aM"][Math.round(turn) % 6];
}
