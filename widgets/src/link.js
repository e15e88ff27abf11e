// The line between a view and its kernel: hello until the kernel answers, then messages both ways.

/**
 * @typedef {Object} Model What a widget manager hands over, as far as it is used here.
 * @property {(name: string) => any} get
 * @property {(name: string, callback: (...given: any[]) => void) => void} on
 * @property {(name: string, callback?: (...given: any[]) => void) => void} off
 * @property {(content: any) => void} send
 */
/** @typedef {"opening" | "live" | "gone" | "unloaded"} LinkState */

const FIRST_HELLOS = 10;
const FIRST_PAUSE_MS = 200;
const LATER_PAUSE_MS = 2000;
const MAX_HELLOS = 40;

export const GONE = "The kernel is gone. This is the last state it sent.";
export const UNLOADED = "Unloaded: pi_kernel is no longer active in this kernel.";

export class Link {
  /** @type {LinkState} */
  state = "opening";
  #hellos = 0;
  /** Tells the kernel whether it has answered this page already. */
  #page = Math.random().toString(36).slice(2);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {Model} model
   * @param {(message: any) => void} onMessage
   * @param {(state: LinkState) => void} onState
   */
  constructor(model, onMessage, onState) {
    this.model = model;
    this.onMessage = onMessage;
    this.onState = onState;
    model.on("msg:custom", this.#receive);
    model.on("comm:close", this.#lost);
    model.on("comm_live_update", this.#lost);
  }

  /** Say hello until the kernel answers: the first messages of a page may get lost. */
  open() {
    if (this.state !== "opening" || this.#hellos >= MAX_HELLOS) return;
    this.#hellos += 1;
    this.hello();
    const pause = this.#hellos < FIRST_HELLOS ? FIRST_PAUSE_MS : LATER_PAUSE_MS;
    this.#timer = setTimeout(() => this.open(), pause);
  }

  hello() {
    this.send({ type: "hello", page: this.#page, try: this.#hellos });
  }

  /** @param {any} message */
  send(message) {
    if (this.state === "gone" || this.state === "unloaded") return;
    try {
      this.model.send(message);
    } catch {
      this.#become("gone");
    }
  }

  /** @param {LinkState} state */
  #become(state) {
    clearTimeout(this.#timer);
    this.state = state;
    this.onState(state);
  }

  /** @param {any} message */
  #receive = (message) => {
    if (message?.type === "ack") this.#become("live");
    else if (message?.type === "unloaded") this.#become("unloaded");
    else this.onMessage(message);
  };

  #lost = () => {
    if (this.state === "live") this.#become("gone");
  };

  close() {
    clearTimeout(this.#timer);
    this.model.off("msg:custom", this.#receive);
    this.model.off("comm:close", this.#lost);
    this.model.off("comm_live_update", this.#lost);
  }
}
