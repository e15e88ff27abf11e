// What a trace knows: calls in the order of their start, their tree, and which of them are seen.
// Everything that grows with the number of calls is a flat array; nothing here touches the page.

/**
 * @typedef {[number, number, string, string, string, string, number, number, number | null, number | null]} Row
 * Caller's index or -1, group, tool, arguments, kind of status, its word, then milliseconds: start,
 * queued, ran (null: did not), whole (null: not ended).
 */
/** @typedef {{label: string, note: string, parent: number}} Group A cell or a turn; parent -1 at the top. */

export const PARENT = 0;
export const GROUP = 1;
export const TOOL = 2;
export const LINE = 3;
export const KIND = 4;
export const WORD = 5;
export const START = 6;
export const QUEUED = 7;
export const RAN = 8;
export const WHOLE = 9;

const BIG_GROUP = 200;
const PROBLEMS = new Set(["error", "invalid", "notfound", "timeout", "blocked"]);

/** @param {Row} row */
export function isProblem(row) {
  return PROBLEMS.has(row[KIND]);
}

/** @param {Row} row */
export function isRunning(row) {
  return row[KIND] === "running" || row[KIND] === "queued";
}

/**
 * Nodes are calls (0, 1, ...) and groups (-1, -2, ...): one number names either.
 * @param {number} group
 */
export function nodeOfGroup(group) {
  return -1 - group;
}

export class TraceData {
  /** @type {Row[]} */
  rows = [];
  /** @type {Group[]} */
  groups = [];
  /** @type {Int32Array} Nodes, each before what is below it. */
  order = new Int32Array(0);
  /** @type {Uint16Array} By place in the order. */
  depth = new Uint16Array(0);
  /** @type {Int32Array} By place: how many places the node and everything below it take. */
  span = new Int32Array(0);
  /** @type {Map<number, number>} Node to place. */
  placeOf = new Map();
  /** @type {Map<number, boolean>} What a person opened or shut. */
  chosen = new Map();
  /** @type {Map<number, string>} Texts that the filter looks at, made on first use. */
  texts = new Map();
  problems = 0;
  running = 0;
  version = 0;

  /** @param {number} from @param {Row[]} rows @param {Group[]} groups */
  add(from, rows, groups) {
    this.groups = groups;
    this.rows.length = Math.min(this.rows.length, from);
    for (const row of rows) this.rows.push(row);
    for (let i = from; i < this.rows.length; i++) this.texts.delete(i);
    this.#build();
  }

  /** @param {number[]} at @param {Row[]} rows */
  change(at, rows) {
    at.forEach((index, i) => {
      this.rows[index] = rows[i];
      this.texts.delete(index);
    });
    this.#count();
  }

  /** Nobody will tell the ends of what runs. */
  end() {
    const open = this.rows.flatMap((row, index) => (isRunning(row) ? [index] : []));
    if (!open.length) return;
    const rows = open.map((index) => {
      /** @type {Row} */
      const row = [...this.rows[index]];
      row[KIND] = row[WORD] = "unfinished";
      return row;
    });
    this.change(open, rows);
  }

  #build() {
    const { rows, groups } = this;
    const nGroups = groups.length;
    const nNodes = rows.length + nGroups;
    // Children as linked lists: slot s is group s, then call s - nGroups.
    const first = new Int32Array(nNodes).fill(-1);
    const last = new Int32Array(nNodes).fill(-1);
    const next = new Int32Array(nNodes).fill(-1);
    /** @type {number[]} */
    const top = [];
    const hang = (/** @type {number} */ slot, /** @type {number} */ above) => {
      if (above < 0) top.push(slot);
      else if (last[above] < 0) first[above] = last[above] = slot;
      else {
        next[last[above]] = slot;
        last[above] = slot;
      }
    };
    for (let g = 0; g < nGroups; g++) hang(g, groups[g].parent);
    for (let r = 0; r < rows.length; r++) {
      const [parent, group] = rows[r];
      hang(r + nGroups, parent >= 0 ? parent + nGroups : group);
    }
    this.order = new Int32Array(nNodes);
    this.depth = new Uint16Array(nNodes);
    this.span = new Int32Array(nNodes);
    this.placeOf.clear();
    let place = 0;
    /** @type {[number, number][]} */
    const waiting = top.reverse().map((slot) => [slot, 0]);
    for (let item = waiting.pop(); item; item = waiting.pop()) {
      const [slot, depth] = item;
      const node = slot < nGroups ? nodeOfGroup(slot) : slot - nGroups;
      this.order[place] = node;
      this.depth[place] = depth;
      this.placeOf.set(node, place);
      place += 1;
      const from = waiting.length;
      for (let c = first[slot]; c >= 0; c = next[c]) waiting.push([c, depth + 1]);
      reverseFrom(waiting, from);
    }
    this.#measure();
    this.#count();
  }

  #measure() {
    /** @type {number[]} */
    const open = [];
    const { depth, span } = this;
    for (let place = 0; place <= depth.length; place++) {
      const level = place < depth.length ? depth[place] : -1;
      while (open.length && depth[open[open.length - 1]] >= level) {
        const done = /** @type {number} */ (open.pop());
        span[done] = place - done;
      }
      open.push(place);
    }
  }

  #count() {
    this.problems = 0;
    this.running = 0;
    for (const row of this.rows) {
      if (isProblem(row)) this.problems += 1;
      if (isRunning(row)) this.running += 1;
    }
    this.version += 1;
  }

  /** How many are directly or deeper below. @param {number} node */
  nBelow(node) {
    const place = this.placeOf.get(node);
    return place === undefined ? 0 : this.span[place] - 1;
  }

  /** @param {number} node */
  isShut(node) {
    return !(this.chosen.get(node) ?? (this.nBelow(node) <= BIG_GROUP || node === this.onlyTop));
  }

  /** Where everything hangs in one node, it is open. */
  get onlyTop() {
    return this.span[0] === this.order.length ? this.order[0] : null;
  }

  /** @param {number} node @param {boolean} isOpen */
  fold(node, isOpen) {
    this.chosen.set(node, isOpen);
    this.version += 1;
  }

  /** Above a node, or null at the top. @param {number} node @returns {number | null} */
  parentOf(node) {
    const place = this.placeOf.get(node) ?? 0;
    for (let p = place - 1; p >= 0; p--)
      if (this.depth[p] < this.depth[place]) return this.order[p];
    return null;
  }

  /**
   * The nodes to show, in order. A filter shows what fits and the callers above it.
   * @param {((index: number) => boolean) | null} fits
   * @returns {Int32Array}
   */
  visible(fits) {
    return fits ? this.#fitting(fits) : this.#unfolded();
  }

  #unfolded() {
    const { order, span } = this;
    const seen = new Int32Array(order.length);
    let n = 0;
    for (let place = 0; place < order.length; ) {
      const node = order[place];
      seen[n++] = node;
      place += span[place] > 1 && this.isShut(node) ? span[place] : 1;
    }
    return seen.slice(0, n);
  }

  /** @param {(index: number) => boolean} fits */
  #fitting(fits) {
    const { order, depth } = this;
    const kept = new Uint8Array(order.length);
    let level = 0;
    for (let place = order.length - 1; place >= 0; place--) {
      const node = order[place];
      // `level` is the highest depth that somebody below still waits for.
      if (depth[place] < level || (node >= 0 && fits(node))) {
        kept[place] = 1;
        level = depth[place];
      }
    }
    return order.filter((_, place) => kept[place]);
  }

  /** @param {number} index */
  textOf(index) {
    let text = this.texts.get(index);
    if (text === undefined) {
      const row = this.rows[index];
      text = `${row[TOOL]} ${row[LINE]} ${row[WORD]}`.toLowerCase();
      this.texts.set(index, text);
    }
    return text;
  }

  /** Failed calls at or below a node. @param {number} node */
  problemsBelow(node) {
    const place = this.placeOf.get(node) ?? 0;
    let n = 0;
    for (let p = place; p < place + this.span[place]; p++)
      if (this.order[p] >= 0 && isProblem(this.rows[this.order[p]])) n += 1;
    return n;
  }

  /** From the first start to the last end of a node and what is below it. @param {number} node @param {number} now @returns {[number, number]} */
  timesOf(node, now) {
    const place = this.placeOf.get(node) ?? 0;
    let [from, to] = [Infinity, 0];
    for (let p = place; p < place + this.span[place]; p++) {
      const row = this.rows[this.order[p]];
      if (!row) continue;
      from = Math.min(from, row[START]);
      to = Math.max(to, endOf(row, now));
    }
    return [Math.min(from, to), to];
  }

  /** The last end of all. @param {number} now */
  endOfAll(now) {
    let end = 1;
    for (const row of this.rows) end = Math.max(end, endOf(row, now));
    return end;
  }
}

/** @param {Row} row @param {number} now */
export function endOf(row, now) {
  const whole = row[WHOLE];
  return whole === null ? Math.max(now, row[START]) : row[START] + whole;
}

/** @template T @param {T[]} list @param {number} from */
function reverseFrom(list, from) {
  for (let i = from, j = list.length - 1; i < j; i++, j--) [list[i], list[j]] = [list[j], list[i]];
}

const NUMBER = /^ms([<>])(\d+(?:\.\d+)?)$/;

/**
 * Read a filter: words, `tool:bash`, `status:error`, `ms>500`; all must fit.
 * @param {string} text
 * @param {TraceData} data
 * @returns {((index: number) => boolean) | null} null when it lets everything through.
 */
export function readFilter(text, data) {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => readWord(word, data));
  return tests.length ? (index) => tests.every((test) => test(index)) : null;
}

/** @param {string} word @param {TraceData} data @returns {(index: number) => boolean} */
function readWord(word, data) {
  const number = NUMBER.exec(word);
  if (number) {
    const limit = Number(number[2]);
    const isMore = number[1] === ">";
    return (index) => {
      const ms = data.rows[index][WHOLE];
      return ms !== null && (isMore ? ms > limit : ms < limit);
    };
  }
  const [key, ...rest] = word.split(":");
  const value = rest.join(":");
  if (key === "tool" && value) return (i) => data.rows[i][TOOL].toLowerCase().includes(value);
  if (key === "status" && value)
    return (i) => data.rows[i][WORD].includes(value) || data.rows[i][KIND].includes(value);
  return (i) => data.textOf(i).includes(word);
}
