import { expect, test } from "vitest";
import { isProblem, readFilter, TraceData } from "../src/trace_data.js";
import { tickLabel, ticks } from "../src/trace_time.js";

const GROUPS = [
  { label: "Cell 1", note: "", parent: -1 },
  { label: "Cell 2", note: "", parent: -1 },
];

/** @returns {import("../src/trace_data.js").Row} */
function row(parent = -1, group = -1, tool = "read", kind = "ok", start = 0, whole = 1) {
  return [parent, group, tool, `${tool}.py`, kind, kind, start, 0, whole, whole];
}

function small() {
  const data = new TraceData();
  data.add(
    0,
    [
      row(-1, 0, "codemode", "ok", 0, 100), // 0
      row(-1, 1, "bash", "error", 200, 50), // 1
      row(0, -1, "grep", "ok", 10, 20), // 2
      row(2, -1, "read", "timeout", 12, 5), // 3
      row(0, -1, "find", "running", 40), // 4
    ],
    GROUPS,
  );
  return data;
}

test("calls stand below their callers, in the order of their start", () => {
  const data = small();
  expect([...data.order]).toEqual([-1, 0, 2, 3, 4, -2, 1]);
  expect([...data.depth]).toEqual([0, 1, 2, 3, 2, 0, 1]);
  expect([...data.span]).toEqual([5, 4, 2, 1, 1, 2, 1]);
  expect([data.problems, data.running]).toEqual([2, 1]);
});

test("what is shut hides everything below it", () => {
  const data = small();
  data.fold(0, false);
  expect([...data.visible(null)]).toEqual([-1, 0, -2, 1]);
  data.fold(0, true);
  expect([...data.visible(null)]).toEqual([...data.order]);
});

test("a filter keeps the callers of what fits", () => {
  const data = small();
  const shown = (/** @type {string} */ text) => [...data.visible(readFilter(text, data))];
  expect(shown("tool:read")).toEqual([-1, 0, 2, 3]);
  expect(shown("status:error")).toEqual([-2, 1]);
  expect(shown("ms>40 ms<80")).toEqual([-2, 1]);
  expect(shown("GREP.PY")).toEqual([-1, 0, 2]);
  expect(shown("nothing")).toEqual([]);
  expect(readFilter("  ", data)).toBeNull();
});

test("problems are found below a group and below a call", () => {
  const data = small();
  expect([data.problemsBelow(-1), data.problemsBelow(0), data.problemsBelow(-2)]).toEqual([
    1, 1, 1,
  ]);
  expect([...data.visible((index) => isProblem(data.rows[index]))]).toEqual([-1, 0, 2, 3, -2, 1]);
});

test("a call that ends changes its row in place", () => {
  const data = small();
  const before = data.version;
  data.change([4], [row(0, -1, "find", "ok", 40, 30)]);
  expect(data.running).toBe(0);
  expect(data.version).toBeGreaterThan(before);
});

test("a group of more than 200 calls starts shut, unless there is nothing else", () => {
  const many = Array.from({ length: 201 }, () => row(-1, 0));
  const data = new TraceData();
  data.add(0, many, [GROUPS[0]]);
  expect(data.visible(null).length).toBe(202);
  data.add(201, [row(-1, 1)], GROUPS);
  expect([...data.visible(null)]).toEqual([-1, -2, 201]);
});

test("rows that are told again replace the old ones", () => {
  const data = small();
  data.add(0, [row(-1, 0)], GROUPS);
  expect(data.rows.length).toBe(1);
  expect([...data.order]).toEqual([-1, 0, -2]);
});

test("the times of a node are those of everything below it", () => {
  const data = small();
  expect(data.timesOf(-2, 500)).toEqual([200, 250]);
  expect(data.endOfAll(0)).toBe(250);
});

test("10,000 calls in a chain are put in order without recursion", () => {
  const data = new TraceData();
  data.add(
    0,
    Array.from({ length: 10_000 }, (_, i) => row(i - 1, i ? -1 : 0)),
    [GROUPS[0]],
  );
  expect(data.order[10_000]).toBe(9_999);
});

test("an axis has three to seven labels of round numbers", () => {
  expect(ticks(0, 40_000)).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  const lengths = [0.3, 7, 99, 1_234, 60_000, 987_654_321].map((end) => ticks(0, end).length);
  expect(lengths).toEqual([7, 4, 5, 3, 7, 5]);
  expect(tickLabel(2_500, 10_000)).toBe("2.5 s");
  expect(tickLabel(250, 900)).toBe("250 ms");
  expect(tickLabel(120_000, 600_000)).toBe("2 min");
});
