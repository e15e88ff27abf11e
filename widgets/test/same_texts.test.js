// The examples that pi_kernel/render is checked against too.
import { expect, test } from "vitest";
import formats from "../../tests/widgets/formats.json";
import texts from "../../tests/widgets/texts.json";
import * as made from "../src/formats.js";
import { plain, stripEscapes } from "../src/text.js";

/** @type {Record<string, (value: any) => string>} */
const MAKERS = {
  duration: (ms) => made.duration(ms ?? Number.NaN),
  size: made.size,
  count: made.count,
  counted: (n) => made.counted(n, "call"),
  money: made.money,
};

test.each(Object.entries(formats))("%s are written alike", (name, examples) => {
  for (const [value, text] of examples) expect(MAKERS[name](value)).toBe(text);
});

test.each(texts.plain)("%j shows its hidden characters", (text, shown) => {
  expect(plain(text)).toBe(shown);
});

test.each(texts.escapes)("%j loses its escape sequences", (text, shown) => {
  expect(stripEscapes(text)).toBe(shown);
});

test("a running clock has tenths below ten seconds only", () => {
  expect([40, 9_999, 10_000, 59_999, 61_900].map(made.clock)).toEqual([
    "0.0 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1m 01s",
  ]);
});
