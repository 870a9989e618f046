// The arms in memory as a table, one row a slot. Rows are changed in place: an arm that comes up
// takes the row of the one that left, so nothing jumps and the focus stays where it is.

import { niceStep, scale } from "./axes.js";
import { copyOf, h, s, setAttribute, setText, shownLabel } from "./dom.js";
import { count, mean, tick } from "./format.js";

const FEW = 24; // rows that are shown at first where there are more
const MANY = 500; // and at most
const HEIGHT = 22;
const PAD = 6;

export function armsTable(onWithdraw) {
  const { content, place } = copyOf("table-arms");
  const element = h("div", {}, content);
  const rows = [];
  let shown = null;
  let most = FEW;
  place.all.addEventListener("click", () => {
    most = most === FEW ? MANY : FEW;
    draw();
  });
  const watcher = new ResizeObserver(() => shown && draw());
  watcher.observe(element);
  return {
    element,
    close: () => watcher.disconnect(),
    update(bandit) {
      shown = bandit;
      draw();
    },
  };

  function draw() {
    const all = shown.arms_in_memory;
    const sorted = all.length > most;
    const arms = sorted ? mostPulled(all, most) : all;
    const free = Math.max(all.length ? 0 : 1, Math.min(shown.memory, shown.arms, most) - arms.length);
    while (rows.length < arms.length + free) rows.push(newRow(place.rows, onWithdraw));
    while (rows.length > arms.length + free) rows.pop().element.remove();
    const range = rangeOf(arms, shown.best_guess, shown.rescale);
    const width = Math.max(60, rows.length ? rows[0].drawing.clientWidth : 0);
    const x = scale(range.from, range.to, PAD, width - PAD);
    rows.forEach((row, index) => {
      const changed = fill(row, arms[index] ?? null, x, range, shown.best_guess);
      if (changed && !sorted) flash(row.element);
    });
    drawScale(place.scale, range, width);
    place.note.hidden = all.length <= FEW;
    const total = count(all.length);
    const note = sorted ? `The ${count(most)} with the most pulls, of ${total} in memory.` : `All ${total} in memory.`;
    setText(place["note-text"], note);
    setText(place.all, most === FEW ? "Show more" : "Show fewer");
  }
}

/** Where there are too many arms to read: those with the most pulls. */
function mostPulled(arms, most) {
  return [...arms].sort((a, b) => b.pulls - a.pulls).slice(0, most);
}

function newRow(body, onWithdraw) {
  const row = {
    arm: null,
    label: h("bdi"),
    mark: h("span", { class: "mark-text" }),
    pulls: h("td", { role: "cell", class: "number", "data-head": "pulls" }),
    flight: h("td", { role: "cell", class: "number", "data-head": "in flight" }),
    mean: h("td", { role: "cell", class: "number", "data-head": "mean" }),
    ends: h("span", { class: "ends" }),
    drawing: s("svg", { class: "whiskers", height: HEIGHT, "aria-hidden": "true", focusable: "false" }),
    button: h("button", { type: "button", class: "small" }, "Withdraw"),
  };
  const name = h("span", { class: "arm-line" }, h("span", { class: "label" }, row.label), row.mark);
  row.element = h(
    "tr",
    { role: "row" },
    h("th", { role: "rowheader", scope: "row", class: "arm" }, name),
    row.pulls,
    row.flight,
    row.mean,
    h("td", { role: "cell", class: "interval" }, h("span", { class: "interval-line" }, row.drawing, row.ends)),
    h("td", { role: "cell", class: "act" }, row.button),
  );
  row.button.addEventListener("click", () => onWithdraw(row.arm));
  body.append(row.element);
  return row;
}

/** Show an arm, or a free slot, in a row; true if it was another one before. */
function fill(row, arm, x, range, best) {
  row.arm = arm ? arm.arm : null;
  const label = arm ? shownLabel(arm.arm) : "free slot";
  const changed = row.label.textContent !== "" && row.label.textContent !== label;
  setText(row.label, label);
  setAttribute(row.label.parentElement, "title", arm ? label : null);
  const mark = !arm ? "free" : arm.recommended ? "recommended" : arm.duel ? "duel" : null;
  setAttribute(row.element, "data-mark", mark);
  setText(row.mark, { recommended: "recommended", duel: "in a duel" }[mark] ?? "");
  setText(row.pulls, arm ? count(arm.pulls) : "");
  setText(row.flight, arm ? count(arm.in_flight) : "");
  setText(row.mean, arm ? mean(arm.mean) : "");
  setText(row.ends, !arm ? "" : arm.pulls > 0 ? `${mean(arm.low)} to ${mean(arm.high)}` : "no rewards yet");
  setAttribute(row.button, "aria-label", arm ? `Withdraw ${label}` : "Withdraw");
  row.button.hidden = !arm;
  row.drawing.replaceChildren(...(arm && arm.pulls > 0 ? whiskers(arm, x, range, best) : []));
  return changed;
}

/** Mark a row whose arm has just come up; the style sheet fades it, unless motion is unwanted. */
function flash(element) {
  element.classList.remove("new");
  void element.offsetWidth; // so that the animation starts anew
  element.classList.add("new");
}

function whiskers(arm, x, range, best) {
  const middle = HEIGHT / 2;
  const within = (value) => Math.min(range.to, Math.max(range.from, value));
  const zero = x(within(0));
  const end = x(within(arm.mean));
  const width = Math.max(1, Math.abs(end - zero));
  const marks = [s("rect", { class: "mean-bar", x: Math.min(zero, end), y: middle - 5, width, height: 10, rx: 2 })];
  if (best != null) {
    marks.push(s("line", { class: "best-mark", x1: x(best), x2: x(best), y1: 0, y2: HEIGHT }));
  }
  const [low, high] = [x(within(arm.low)), x(within(arm.high))];
  marks.push(s("line", { class: "whisker", x1: low, x2: high, y1: middle, y2: middle }));
  for (const value of [arm.low, arm.high]) {
    // An end beyond the scale has no cap, but an arrow.
    const place = x(within(value));
    const inside = within(value) === value;
    const back = value > range.to ? -4 : 4;
    const d = inside
      ? `M${place} ${middle - 5}V${middle + 5}`
      : `M${place + back} ${middle - 4}L${place} ${middle}L${place + back} ${middle + 4}`;
    marks.push(s("path", { class: "whisker", d }));
  }
  return marks;
}

/**
 * The range of the intervals' common scale. Arms with few pulls have wide intervals; to leave room
 * for differences that matter, the scale ends at about two and a half times the best guess.
 */
function rangeOf(arms, best, rescale) {
  const known = arms.filter((arm) => arm.pulls > 0);
  const [least, most] = rescale ?? [0, 1];
  if (!known.length) return { from: least, to: most, step: most - least };
  const zero = Math.min(Math.max(0, least), most);
  const middle = best ?? Math.max(...known.map((arm) => arm.mean));
  const reach = 2.5 * Math.max(Math.abs(middle - zero), (most - least) / 500);
  const top = Math.min(Math.max(...known.map((arm) => arm.high)), zero + reach);
  const bottom = Math.max(Math.min(zero, ...known.map((arm) => arm.low)), zero - reach);
  const step = niceStep((top - bottom) / 4);
  return {
    from: Math.max(least, Math.floor(bottom / step + 1e-9) * step),
    to: Math.min(most, Math.ceil(top / step - 1e-9) * step),
    step,
  };
}

function drawScale(drawing, range, width) {
  drawing.setAttribute("width", width);
  const text = (value, x, anchor) => s("text", { x, y: 11, "text-anchor": anchor }, tick(value, range.step));
  drawing.replaceChildren(text(range.from, PAD, "start"), text(range.to, width - PAD, "end"));
}
