// Where views stand. A notebook's output holds the static form inside an element whose class names
// its widget; while the kernel lives, the view stands in front of it. What is saved is the static
// form alone, and when an output is drawn again the view moves to the new element with its state.

import { h, setAttribute } from "./dom.js";
import { STYLES } from "./styles.js";

/**
 * @typedef {Object} View One view of a widget.
 * @property {HTMLElement} el
 * @property {() => void} update Show the store as it is now.
 * @property {() => void} [moved] Called when the view stands in another element: its parts have
 *   lost how far they were scrolled.
 * @property {() => void} close
 */

/** @type {CSSStyleSheet | undefined} */
let sheet;

/** A host that keeps our styles in and the page's out. @param {HTMLElement} inner */
function hostOf(inner) {
  sheet ??= new CSSStyleSheet();
  if (!sheet.cssRules.length && STYLES) sheet.replaceSync(STYLES);
  const host = h("div", { class: "pi-host" });
  const shadow = host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [sheet];
  const root = h("div", { class: "pi" }, inner);
  shadow.append(root);
  shadow.addEventListener("focusin", (event) => suppress(host, event.target));
  shadow.addEventListener("focusout", () => suppress(host, null));
  return { host, root };
}

/** Keys in a text field are the field's, not the notebook's commands. @param {HTMLElement} host @param {EventTarget | null} target */
function suppress(host, target) {
  const isField = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  setAttribute(host, "data-lm-suppress-shortcuts", isField ? "true" : null);
}

const AWAY_MS = 5000;

export class Slot {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    const { host, root } = hostOf(view.el);
    this.host = host;
    this.root = root;
    this.stopTheme = followTheme(root);
    host.addEventListener("focusin", () => {
      this.focused = host.shadowRoot?.activeElement ?? null;
    });
    host.addEventListener("focusout", () => {
      if (host.isConnected) this.focused = null;
    });
  }

  /** @type {Element | null} What had the focus, also when the page took the host away. */
  focused = null;

  /** Stand in an element. @param {Element} place */
  moveTo(place) {
    const { focused } = this;
    place.prepend(this.host);
    this.view.update();
    this.view.moved?.();
    const isFree = !document.activeElement || document.activeElement === document.body;
    if (focused instanceof HTMLElement && isFree) focused.focus({ preventScroll: true });
  }

  close() {
    this.stopTheme();
    this.view.close();
    this.host.remove();
  }
}

export class Places {
  /** @type {Slot[]} */
  slots = [];

  isShown = true;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /**
   * @param {string} name The class of the elements.
   * @param {() => View} make
   * @param {(isShown: boolean) => void} onShown Told when all views have been away for a while,
   *   and when one is back.
   */
  constructor(name, make, onShown) {
    this.make = make;
    this.onShown = onShown;
    this.found = document.getElementsByClassName(name);
    this.observer = new MutationObserver(() => this.scan());
    this.observer.observe(document.body, { childList: true, subtree: true });
    this.scan();
  }

  scan() {
    for (const place of this.found) {
      if (this.slots.some((slot) => slot.host.parentElement === place)) continue;
      const slot = this.slots.find((one) => !one.host.isConnected) ?? this.#add();
      for (const child of place.children) setHidden(child, true);
      slot.moveTo(place);
    }
    this.#watch();
  }

  #watch() {
    const isShown = this.slots.some(({ host }) => host.isConnected);
    if (isShown === this.isShown && !this.timer) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (isShown) this.#tell(true);
    else this.timer = setTimeout(() => this.#tell(false), AWAY_MS);
  }

  /** @param {boolean} isShown */
  #tell(isShown) {
    this.timer = undefined;
    if (isShown === this.isShown) return;
    this.isShown = isShown;
    this.onShown(isShown);
  }

  #add() {
    const slot = new Slot(this.make());
    this.slots.push(slot);
    return slot;
  }

  update() {
    for (const slot of this.slots) slot.view.update();
  }

  close() {
    this.observer.disconnect();
    clearTimeout(this.timer);
    for (const place of this.found) for (const child of place.children) setHidden(child, false);
    for (const slot of this.slots) slot.close();
    this.slots = [];
  }
}

/** @param {Element} element @param {boolean} isHidden */
function setHidden(element, isHidden) {
  if (element instanceof HTMLElement) element.style.display = isHidden ? "none" : "";
}

const DARK_BELOW = 0.4;
const SETTLE_MS = 300;

/** Set the theme from the luminance of the ground, now and when the page changes. @param {HTMLElement} root */
export function followTheme(root) {
  const probe = h("span", { class: "sr", style: { color: "var(--pi-bg)" } });
  root.append(probe);
  const set = () => {
    if (!root.isConnected) return;
    const isDark = luminance(getComputedStyle(probe).color) < DARK_BELOW;
    setAttribute(root, "data-pi-theme", isDark ? "dark" : "light");
  };
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const soon = () => {
    set();
    clearTimeout(timer);
    timer = setTimeout(set, SETTLE_MS);
  };
  const observer = new MutationObserver(soon);
  for (const element of [document.documentElement, document.body])
    observer.observe(element, { attributes: true });
  requestAnimationFrame(soon);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}

/** Of a computed colour. @param {string} colour */
export function luminance(colour) {
  const numbers = (colour.match(/[\d.]+/g) ?? ["255", "255", "255"]).map(Number);
  const scale = colour.startsWith("color(") ? 1 : 255;
  const [red, green, blue] = numbers.slice(0, 3).map((value) => {
    const part = value / scale;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
