// The one door for HTML. pi_kernel/render makes it, escaped, for saved notebooks; here it is parsed
// without running anything and built anew from a list of tags and styles. Whatever is not on the
// list is left out, so a fault there cannot become a fault here.

const TAGS = new Set(
  "b br details div i img pre span summary table tbody td th thead tr".split(" "),
);
const STYLES_KEPT = new Set(
  (
    "background background-color border border-bottom border-collapse border-left border-radius " +
    "border-right border-spacing border-top cursor display float font-family font-size font-style " +
    "font-weight height letter-spacing line-height list-style margin margin-bottom margin-left " +
    "margin-right margin-top max-height max-width min-height min-width opacity overflow " +
    "overflow-wrap overflow-x padding padding-bottom padding-left padding-right padding-top " +
    "tab-size table-layout text-align text-decoration text-overflow vertical-align white-space " +
    "width word-break"
  ).split(" "),
);
const UNSAFE_VALUE = /url|expression|attr|var|image|\\|@/i;
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const MAX_NODES = 20_000;

/** @param {string} html @returns {DocumentFragment} */
export function fragment(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  const made = document.createDocumentFragment();
  let left = MAX_NODES;
  /** @type {[Node, Node][]} */
  const waiting = [[parsed.body, made]];
  for (let next = waiting.pop(); next && left > 0; next = waiting.pop()) {
    const [from, to] = next;
    for (const child of from.childNodes) {
      left -= 1;
      if (child.nodeType === Node.TEXT_NODE) to.appendChild(new Text(child.nodeValue ?? ""));
      if (!(child instanceof Element)) continue;
      const element = copyOf(child);
      if (element) waiting.push([child, to.appendChild(element)]);
    }
  }
  return made;
}

/** @param {Element} given */
function copyOf(given) {
  const tag = given.localName;
  if (!TAGS.has(tag)) return null;
  const element = document.createElement(tag);
  if (tag === "img") {
    const source = given.getAttribute("src") ?? "";
    if (!PICTURE.test(source)) return null;
    element.setAttribute("src", source);
    element.setAttribute("alt", given.getAttribute("alt") ?? "");
  }
  if (tag === "details" && given.hasAttribute("open")) element.setAttribute("open", "");
  if (given instanceof HTMLElement) copyStyle(given, element);
  return element;
}

/** @param {HTMLElement} from @param {HTMLElement} to */
function copyStyle(from, to) {
  for (const declaration of (from.getAttribute("style") ?? "").split(";")) {
    const [name, ...rest] = declaration.split(":");
    const property = name.trim().toLowerCase();
    const value = rest.join(":").trim();
    if (STYLES_KEPT.has(property) && !UNSAFE_VALUE.test(value))
      to.style.setProperty(property, value);
  }
}
