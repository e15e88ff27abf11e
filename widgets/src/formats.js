// Times, sizes, counts and money as people read them; the same texts as pi_kernel/render/formats.py
// (both are checked against tests/widgets/formats.json).

const UNITS = ["KB", "MB", "GB", "TB"];
const STEP = 1024;

/** @param {number} value */
function roundHalfUp(value) {
  return Math.floor(value + 0.5);
}

/** @param {number} value @param {number} places */
function withCommas(value, places) {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  });
}

/** @param {number} n */
function two(n) {
  return String(n).padStart(2, "0");
}

/** `< 1 ms`, `41 ms`, `0.8 s`, `38.2 s`, `1m 04s`, `2h 05m`. @param {number} ms */
export function duration(ms) {
  if (!Number.isFinite(ms)) return "unknown";
  if (ms < 1) return "< 1 ms";
  if (roundHalfUp(ms) < 100) return `${roundHalfUp(ms)} ms`;
  const tenths = roundHalfUp((ms / 1000) * 10);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = roundHalfUp(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
}

/** A clock that runs: tenths below ten seconds, then whole seconds. @param {number} ms */
export function clock(ms) {
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : duration(Math.floor(ms / 1000) * 1000);
}

/** `812 B`, `12.4 KB`, `3.1 MB`. @param {number} nBytes */
export function size(nBytes) {
  if (nBytes < STEP) return `${withCommas(Math.trunc(nBytes), 0)} B`;
  let value = nBytes / STEP;
  let unit = 0;
  while (Number(value.toFixed(1)) >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${withCommas(value, 1)} ${UNITS[unit]}`;
}

/** `1,204`, from ten million on `12.4 M`. @param {number} n */
export function count(n) {
  return n < 10_000_000 ? withCommas(n, 0) : `${withCommas(n / 1_000_000, 1)} M`;
}

/** `1 call`, `1,204 calls`. @param {number} n @param {string} noun @param {string} [plural] */
export function counted(n, noun, plural) {
  return `${count(n)} ${n === 1 ? noun : (plural ?? `${noun}s`)}`;
}

/** @param {number} dollars */
export function money(dollars) {
  return `$${withCommas(dollars, Math.abs(dollars) < 1 ? 4 : 2)}`;
}
