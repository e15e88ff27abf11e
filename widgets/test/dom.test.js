// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { h, placeChildren } from "../src/dom.js";
import { fragment } from "../src/fragment.js";
import { luminance } from "../src/places.js";
import { shown, terminal } from "../src/text.js";

/** @param {(Node | string)[]} nodes */
function html(nodes) {
  const box = document.createElement("div");
  box.append(...nodes);
  return box.innerHTML;
}

test("texts are never read as HTML", () => {
  const hostile = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>&amp;";
  const made = h("p", { title: hostile }, hostile, ...shown(hostile));
  expect(made.children.length).toBe(0);
  expect(made.textContent).toBe(hostile + hostile);
  expect(made.title).toBe(hostile);
});

test("hidden characters become tags", () => {
  expect(html(shown("a\u202eb"))).toBe('a<span class="pi-tag">U+202E</span>b');
});

test("a colour stays on until the output changes it", () => {
  expect(html(terminal(["\x1b[31mred", "still\x1b[0m off"]))).toBe(
    '<span class="aR">red</span>\n<span class="aR">still</span> off',
  );
});

test("a line that was drawn again shows its last state", () => {
  expect(html(terminal(["10%\r50%\r100%"]))).toBe('<span class="pi-tag">2 redraws</span> 100%');
});

test("colours of the table and of three channels become the nearest of ours", () => {
  const classOf = (/** @type {string} */ code) => html(terminal([`\x1b[${code}mx`]));
  expect(classOf("38;5;196")).toContain("aR");
  expect(classOf("38;2;10;200;30")).toContain("aG");
  expect(classOf("38;5;250")).toBe("x");
  expect(classOf("48;2;10;200;30")).toBe("x");
});

test("a bomb of escape sequences ends", () => {
  const bomb = `${"\x1b[1;31m".repeat(20_000)}${"\x1b[".repeat(20_000)}0m the end`;
  expect(html(terminal([bomb]))).toContain(" the end");
});

test("of HTML only the listed tags, styles and pictures are kept", () => {
  const given =
    '<div style="padding:8px;position:fixed;background:url(http://x)" onclick="x()" class="a" id="b">' +
    "<script>alert(1)</script><b>bold</b><a href='javascript:x'>link</a>" +
    '<img src="http://x/y.png"><img src="data:image/svg+xml;base64,AAAA">' +
    '<img src="data:image/png;base64,AAAA" alt="A" onerror="x()"><svg></svg>' +
    "<details open><summary>s</summary>d</details></div>";
  expect(html([fragment(given)])).toBe(
    '<div style="padding: 8px;"><b>bold</b><img src="data:image/png;base64,AAAA" alt="A">' +
      '<details open=""><summary>s</summary>d</details></div>',
  );
});

test("children that stay are not moved", () => {
  const [a, b, c] = ["a", "b", "c"].map((id) => h("i", { id }));
  const box = h("div", {}, a, b);
  placeChildren(box, [a, c, b]);
  expect([...box.children]).toEqual([a, c, b]);
  placeChildren(box, [c]);
  expect([...box.children]).toEqual([c]);
});

test("dark grounds are told from light ones in any notation", () => {
  expect(luminance("rgb(255, 255, 255)")).toBeCloseTo(1);
  expect(luminance("rgb(17, 17, 17)")).toBeLessThan(0.4);
  expect(luminance("color(srgb 0.07 0.07 0.07)")).toBeLessThan(0.4);
});
