// Elements are made here and nowhere else. Texts become text nodes and attributes are set one by
// one: nothing that came from a tool or a model is ever read as HTML.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [props] `class`, `onclick` and the like, `style` as an object; any
 *   other is an attribute. null and false leave it out.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(element, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** @param {Element} parent @param {Child[]} children */
export function append(parent, children) {
  for (const child of children) if (child || child === "") parent.append(child);
}

/** @param {HTMLElement} element @param {Record<string, string>} style */
export function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
}

/** Set a text where it differs: unchanged nodes cost no layout. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {Element} element @param {string} name @param {string | null} value */
export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** A shape; its meaning stands beside it in words. @param {string} name */
export function icon(name) {
  return h("i", { class: `pi-i ${name}`, "aria-hidden": "true" });
}

/**
 * @param {string} label
 * @param {() => void} onclick
 * @param {{kind?: string, shape?: string}} [look]
 */
export function button(label, onclick, look = {}) {
  const shape = look.shape ? icon(look.shape) : null;
  return h(
    "button",
    { type: "button", class: `pi-b ${look.kind ?? ""}`.trim(), onclick },
    shape,
    label,
  );
}

/** A button that is a shape only. @param {string} label @param {string} shape @param {() => void} onclick */
export function iconButton(label, shape, onclick) {
  const props = { type: "button", class: "pi-b quiet ico", "aria-label": label, title: label };
  return h("button", { ...props, onclick }, icon(shape));
}

/** @param {string} label @param {() => void} onclick */
export function link(label, onclick) {
  return h("button", { type: "button", class: "pi-link", onclick }, label);
}

const COPIED_MS = 1500;

/** A button that copies a text and says so. @param {string} label @param {() => string} text */
export function copyButton(label, text) {
  const made = iconButton(label, "copy", async () => {
    const isCopied = await copyText(text());
    const said = isCopied ? "Copied" : "Could not copy";
    made.title = said;
    made.setAttribute("aria-label", said);
    made.replaceChildren(icon(isCopied ? "ok" : "x"));
    setTimeout(() => {
      made.title = label;
      made.setAttribute("aria-label", label);
      made.replaceChildren(icon("copy"));
    }, COPIED_MS);
  });
  return made;
}

/** @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Status as shape, word and colour. @param {string} kind @param {string} word */
export function status(kind, word) {
  const props = { class: `pi-st st-${kind}`, title: word };
  return h("span", props, icon(SHAPES[kind] ?? kind), h("span", { class: "wd" }, word));
}

/** @type {Record<string, string>} */
export const SHAPES = { running: "run" };

/** Make elements the children; those that stay are not touched. @param {Element} parent @param {Element[]} elements */
export function placeChildren(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const element of elements) {
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
}
