// Numbers and times as they are shown. Widths change as little as possible while values change.

const EXACT = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const NONE = "–";

/** A count in full up to eight digits, then shortened. */
export function count(value) {
  if (value == null) return NONE;
  return value < 1e8 ? EXACT.format(value) : COMPACT.format(value);
}

/** A count with its noun: 1 arm, 2 arms. */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A reward or a mean of rewards: four decimals within [-1, 1], about five digits beyond. */
export function mean(value) {
  if (value == null || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (size <= 1) return value.toFixed(4);
  if (size >= 1e7) return COMPACT.format(value);
  return value.toFixed(Math.max(0, 4 - Math.floor(Math.log10(size))));
}

/** The same with fewer decimals, for an axis whose ticks are this far apart. */
export function tick(value, step) {
  let digits = 0;
  while (digits < 8 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  return Math.abs(value) >= 1e6 ? COMPACT.format(value) : (value + 0).toFixed(digits);
}

export function share(part, whole) {
  if (!whole) return NONE;
  const percent = (100 * part) / whole;
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)}%`;
}

/** Seconds in the unit that suits them. */
export function duration(seconds) {
  if (seconds == null || !Number.isFinite(seconds)) return NONE;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 5995) return `${(seconds / 60).toFixed(1)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} d`;
}

export function bytes(value) {
  if (value == null) return NONE;
  if (value < 10_000) return `${EXACT.format(value)} bytes`;
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export const clock = (at) => CLOCK.format(at);
export const minute = (at) => MINUTE.format(at);
export const day = (at) => DAY.format(at);
export const full = (at) => FULL.format(at);

/** A moment, with its day unless that is today. */
export function moment(at, now = Date.now()) {
  return day(at) === day(now) ? clock(at) : `${day(at)}, ${minute(at)}`;
}
