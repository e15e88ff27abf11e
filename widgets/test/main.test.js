// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";
import main from "../src/main.js";

/** A model as a widget manager hands it over. @param {Record<string, any>} values */
function makeModel(values) {
  /** @type {Map<string, Set<(...given: any[]) => void>>} */
  const watchers = new Map();
  return {
    /** @type {any[]} */
    sent: [],
    get: (/** @type {string} */ name) => values[name],
    on: (/** @type {string} */ name, /** @type {any} */ callback) => {
      watchers.set(name, (watchers.get(name) ?? new Set()).add(callback));
    },
    off: (/** @type {string} */ name, /** @type {any} */ callback) => {
      watchers.get(name)?.delete(callback);
    },
    send(/** @type {any} */ message) {
      this.sent.push(message);
    },
    say: (/** @type {any} */ message) => {
      for (const callback of watchers.get("msg:custom") ?? []) callback(message);
    },
    lose: () => {
      for (const callback of watchers.get("comm_live_update") ?? []) callback();
    },
  };
}

const CALL = {
  id: "cell-1/1",
  tool: "bash",
  line: "$ sleep 9",
  about: "Running sleep 9",
  isPath: false,
  kind: "running",
  word: "running",
  ms: 1200,
  tail: { text: "one\ntwo\n", earlier: 0, lines: 2, bytes: 8, terminal: true },
  below: [],
  nBelow: 0,
  nFailedBelow: 0,
};

/** @param {any} call */
function calls(...call) {
  const running = call.filter((/** @type {any} */ one) => one.kind === "running").length;
  const shown = call.map((/** @type {any} */ one) => one.id);
  const counts = { calls: call.length, running, failed: 0 };
  return { type: "calls", isWhole: true, note: "", calls: call, shown, counts };
}

let n = 0;
function open(kind = "calls") {
  const place = `pi-at-${++n}`;
  const output = document.createElement("div");
  output.innerHTML = `<div class="${place}"><div>static</div></div>`;
  document.body.append(output);
  const model = makeModel({ kind, place });
  const close = main.initialize({ model });
  const roots = () => [...document.querySelectorAll(".pi-host")].map((host) => host.shadowRoot);
  return { model, output, close, place, roots, text: () => roots()[0]?.textContent ?? "" };
}

beforeEach(() => {
  document.body.replaceChildren();
});

test("nothing is shown before the kernel has answered", () => {
  const { model, output, roots, close } = open();
  expect(model.sent).toEqual([{ type: "hello", page: expect.any(String), try: 1 }]);
  expect(roots()).toEqual([]);
  expect(output.textContent).toBe("static");
  model.say({ type: "ack" });
  model.say(calls(CALL));
  expect(roots().length).toBe(1);
  close();
  expect(roots()).toEqual([]);
  expect(output.querySelector(".pi-host")).toBeNull();
});

test("hello is said again until the kernel answers", () => {
  vi.useFakeTimers();
  const { model, close } = open();
  vi.advanceTimersByTime(450);
  expect(model.sent.length).toBe(3);
  model.say({ type: "ack" });
  vi.advanceTimersByTime(5000);
  expect(model.sent.length).toBe(3);
  close();
  vi.useRealTimers();
});

test("a running call is shown with its output and can be stopped once", () => {
  const { model, text, roots, close } = open();
  model.say({ type: "ack" });
  model.say(calls(CALL));
  expect(text()).toContain("$ sleep 9");
  expect(text()).toContain("one\ntwo");
  const stop = [...(roots()[0]?.querySelectorAll("button") ?? [])].find(
    (button) => button.textContent === "Stop",
  );
  stop?.click();
  stop?.click();
  expect(model.sent.slice(1)).toEqual([{ type: "stop", id: "cell-1/1" }]);
  expect(text()).toContain("stopping");
  model.say(calls({ ...CALL, kind: "aborted", word: "aborted", tail: undefined }));
  expect(text()).toContain("aborted");
  close();
});

test("two places of one widget have a view each, and a new element gets the old view", async () => {
  const { model, output, place, roots, close } = open();
  model.say({ type: "ack" });
  model.say(calls(CALL));
  const second = document.createElement("div");
  second.className = place;
  document.body.append(second);
  await vi.waitFor(() => expect(roots().length).toBe(2));
  const host = output.querySelector(".pi-host");
  output.innerHTML = `<div class="${place}"><div>static again</div></div>`;
  await vi.waitFor(() => expect(output.querySelector(".pi-host")).toBe(host));
  close();
});

test("a lost kernel is told, and nothing is sent any more", () => {
  const { model, text, roots, close } = open();
  model.say({ type: "ack" });
  model.say(calls(CALL));
  model.lose();
  expect(text()).toContain("The kernel is gone. This is the last state it sent.");
  const before = model.sent.length;
  for (const button of roots()[0]?.querySelectorAll("button") ?? []) button.click();
  expect(model.sent.length).toBe(before);
  close();
});

test("an unloaded extension is told", () => {
  const { model, text, close } = open();
  model.say({ type: "ack" });
  model.say(calls(CALL));
  model.say({ type: "unloaded" });
  expect(text()).toContain("Unloaded: pi_kernel is no longer active in this kernel.");
  close();
});

test("a widget object that is displayed renders where it is", () => {
  const model = makeModel({ kind: "calls", place: "pi-at-x" });
  const el = document.createElement("div");
  document.body.append(el);
  const remove = main.render({ model, el });
  model.say({ type: "ack" });
  model.say(calls(CALL));
  expect(el.firstElementChild?.shadowRoot?.textContent).toContain("$ sleep 9");
  remove();
  expect(el.children.length).toBe(0);
});

test("a trace shows its rows and asks for the details of one", () => {
  const { model, text, roots, close } = open("trace");
  model.say({ type: "ack" });
  model.say({
    type: "rows",
    from: 0,
    rows: [
      [-1, 0, "bash", "$ make", "error", "exit 2", 0, 0, 40, 41],
      [-1, 0, "<b>x</b>", "a=1", "ok", "ok", 50, 200, 10, 260],
    ],
    groups: [{ label: "Cell 1", parent: -1 }],
    title: "session",
    now: 300,
    tokens: 1204,
    cost: 0,
  });
  expect(text()).toContain("2 calls");
  expect(text()).toContain("1 problem");
  expect(text()).toContain("1,204 tokens");
  const rows = [...(roots()[0]?.querySelectorAll(".row") ?? [])];
  expect(rows.map((row) => row.getAttribute("aria-level"))).toEqual(["1", "2", "2"]);
  expect(rows[2].textContent).toContain("<b>x</b>");
  expect(rows[2].textContent).toContain("0.2 s queued");
  rows[1].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.sent.at(-1)).toEqual({ type: "details", at: 0 });
  model.say({
    type: "details",
    at: 0,
    id: "cell-1/1",
    facts: [["Call", "cell-1/1"]],
    arguments: '{"command": "make"}',
    html: "<pre>no rule</pre><script>1</script>",
    json: "{}",
  });
  expect(text()).toContain('{"command": "make"}');
  close();
});

test("a widget whose views are away tells so, and asks again when one is back", async () => {
  vi.useFakeTimers();
  const { model, output, close } = open();
  model.say({ type: "ack" });
  output.remove();
  await vi.advanceTimersByTimeAsync(10);
  vi.advanceTimersByTime(6000);
  expect(model.sent.at(-1)).toEqual({ type: "hidden" });
  document.body.append(output);
  await vi.advanceTimersByTimeAsync(10);
  expect(model.sent.at(-1)).toMatchObject({ type: "hello" });
  close();
  vi.useRealTimers();
});
