// The widget that anywidget runs: one model, a store of what the kernel sent, and its views.

import { makeCalls } from "./calls.js";
import { Link } from "./link.js";
import { Places, Slot } from "./places.js";
import { makeTrace } from "./trace.js";

/**
 * @typedef {Object} Store What a kind of widget knows; every view of the widget shows it.
 * @property {(message: any) => void} receive Take one message of the kernel.
 * @property {(link: import("./link.js").Link) => import("./places.js").View} makeView
 */

/** By the widget's `kind`. @type {Record<string, () => Store>} */
const KINDS = { calls: makeCalls, trace: makeTrace };

class Widget {
  /** @type {Set<import("./places.js").Slot>} */
  shown = new Set();
  /** @type {import("./places.js").Places | undefined} */
  places;

  /** @param {import("./link.js").Model} model */
  constructor(model) {
    this.store = KINDS[model.get("kind")]();
    this.link = new Link(
      model,
      (message) => {
        this.store.receive(message);
        this.update();
      },
      (state) => {
        // Nothing is shown before both directions are proved to work.
        if (state === "live") this.places ??= this.#place(model.get("place"));
        this.update();
      },
    );
    this.link.open();
  }

  /** @param {string} name */
  #place(name) {
    return new Places(
      name,
      () => this.view(),
      (isShown) => (isShown ? this.link.hello() : this.link.send({ type: "hidden" })),
    );
  }

  view() {
    return this.store.makeView(this.link);
  }

  update() {
    this.places?.update();
    for (const slot of this.shown) slot.view.update();
  }

  close() {
    this.link.close();
    this.places?.close();
    for (const slot of this.shown) slot.close();
  }
}

/** @type {Map<string, Widget>} */
const widgets = new Map();

/** @param {import("./link.js").Model} model */
function widgetOf(model) {
  const place = model.get("place");
  const widget = widgets.get(place) ?? new Widget(model);
  widgets.set(place, widget);
  return widget;
}

export default {
  /** @param {{model: import("./link.js").Model}} given */
  initialize({ model }) {
    const widget = widgetOf(model);
    return () => {
      widgets.delete(model.get("place"));
      widget.close();
    };
  },

  /** For a widget object that somebody displays. @param {{model: import("./link.js").Model, el: HTMLElement}} given */
  render({ model, el }) {
    const widget = widgetOf(model);
    const slot = new Slot(widget.view());
    widget.shown.add(slot);
    el.append(slot.host);
    slot.view.update();
    return () => {
      widget.shown.delete(slot);
      slot.close();
    };
  },
};
