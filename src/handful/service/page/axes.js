// Scales and ticks, and what both charts share: a drawing that fits its box, and a line above it
// that says what the marks mean, or what is under the pointer.

import { h, s, setText } from "./dom.js";
import { clock, count, day, minute, tick } from "./format.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];

/** A linear map from [from, to] to [start, end]. */
export function scale(from, to, start, end) {
  const factor = to > from ? (end - start) / (to - from) : 0;
  return (value) => start + (value - from) * factor;
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten that is at least the value. */
export function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find((n) => n * power >= value * (1 - 1e-9)) * power;
}

/** Round limits around values, and the ticks between them; 0 is included unless it is far off. */
export function valueAxis(low, high, most = 5) {
  if (!(high > low)) [low, high] = [Math.min(low, 0), high > 0 ? high * 1.25 : high + 1];
  if (low > 0 && low < 0.6 * high) low = 0;
  const step = niceStep((high - low) / most);
  const from = Math.floor(low / step + 1e-9) * step;
  const to = Math.ceil(high / step - 1e-9) * step;
  const ticks = [];
  for (let n = 0; from + n * step <= to + step / 1000; n += 1) ticks.push(from + n * step);
  return { from, to, ticks, text: (value) => tick(value, step) };
}

/** The ticks of a time axis in local time, at most so many. */
export function timeTicks(from, to, most) {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? STEPS[STEPS.length - 1];
  const shift = step >= HOUR ? new Date(to).getTimezoneOffset() * MINUTE : 0;
  const text = step < MINUTE ? clock : step < DAY ? minute : day;
  const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) {
    ticks.push({ at, text: text(at) });
  }
  return ticks;
}

/**
 * The horizontal axis of a history: a map from the time of a point to its place, and the ticks.
 * Across decisions, idle hours take no room; where there are no decisions to tell points apart, and
 * across time, the clock does.
 */
export function across(history, start, end) {
  const { points } = history;
  const first = points[0];
  const last = points[points.length - 1];
  const most = Math.max(2, Math.floor((end - start) / 85));
  if (history.across === "time" || first.decisions === last.decisions) {
    const x = scale(first.at, last.at, start, end);
    const ticks = timeTicks(first.at, last.at, most).map(({ at, text }) => ({ place: x(at), text }));
    return { x, ticks };
  }
  const made = new Map(points.map(({ at, decisions }) => [at, decisions]));
  const x = scale(first.decisions, last.decisions, start, end);
  const step = Math.max(1, niceStep((last.decisions - first.decisions) / most));
  const ticks = [];
  for (let n = Math.ceil(first.decisions / step) * step; n <= last.decisions; n += step) {
    ticks.push({ place: x(n), text: count(Math.round(n)) });
  }
  return { x: (at) => x(made.get(at)), ticks };
}

/** Lines and labels of the horizontal axis, along the bottom. */
export function bottomAxis(ticks, top, bottom, left, width) {
  const group = s("g", { class: "axis" });
  for (const { place: exact, text } of ticks) {
    const place = Math.round(exact) + 0.5;
    group.append(s("line", { x1: place, x2: place, y1: top, y2: bottom }));
    // A label that would be cut at an edge, or stand under those of the other axis, is left out.
    if (place > left + 26 && place < width - 24) {
      group.append(s("text", { x: place, y: bottom + 16, "text-anchor": "middle" }, text));
    }
  }
  return group;
}

/**
 * The frame of a chart: a legend line, the drawing, and its numbers as a table for those who cannot
 * see it or want to copy them. `draw` is called with the width; `table` makes the table when it is
 * opened, as of then: a table that changes while it is read could not be read.
 */
export class Chart {
  constructor({ height, legend, draw, table, point }) {
    this.height = height;
    this.legend = legend;
    this.draw = draw;
    this.point = point;
    this.key = h("p", { class: "legend" });
    this.drawing = s("svg", { class: "chart", role: "img", height, focusable: "false" });
    this.box = h("div", { class: "plot" }, this.drawing);
    this.table = h("div");
    const details = h("details", {}, h("summary", {}, "As a table"), this.table);
    this.element = h("figure", {}, this.key, this.box, details);
    details.addEventListener("toggle", () => this.table.replaceChildren(...(details.open ? [table()] : [])));
    this.drawing.addEventListener("pointermove", (event) => this.read(event));
    this.drawing.addEventListener("pointerleave", () => this.showLegend());
    this.watcher = new ResizeObserver(() => this.update());
    this.watcher.observe(this.box);
    this.showLegend();
  }

  update() {
    const width = Math.floor(this.box.clientWidth);
    if (width < 50) return;
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    const { marks, text, height } = this.draw(width);
    if (height && height !== this.height) {
      this.height = height;
      this.drawing.setAttribute("height", height);
      this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }
    this.drawing.setAttribute("aria-label", text);
    this.drawing.replaceChildren(...marks);
    if (!this.reading) this.showLegend();
  }

  read(event) {
    const box = this.drawing.getBoundingClientRect();
    const said = this.point(event.clientX - box.left, event.clientY - box.top);
    if (said == null) return this.showLegend();
    if (!this.reading) this.key.replaceChildren(h("bdi"));
    this.reading = true;
    setText(this.key.firstChild, said);
  }

  showLegend() {
    this.reading = false;
    const items = this.legend();
    const text = items.map(([, name]) => name).join("|");
    if (this.key.dataset.text === text && this.key.querySelector("svg")) return;
    this.key.dataset.text = text;
    this.key.replaceChildren(...items.map(([mark, name]) => h("span", {}, swatch(mark), name)));
  }

  close() {
    this.watcher.disconnect();
  }
}

function swatch(mark) {
  const line = mark.startsWith("line");
  return s(
    "svg",
    { width: 22, height: 10, "aria-hidden": "true", focusable: "false" },
    line
      ? s("line", { class: mark, x1: 0, x2: 22, y1: 5, y2: 5 })
      : s("rect", { class: mark, x: 1, y: 0, width: 20, height: 10, rx: 2 }),
  );
}

/** A table of rows of text, in a box that scrolls and can be reached by keyboard. */
export function textTable(caption, heads, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, h("bdi", {}, cell)))))),
    ),
  );
}
