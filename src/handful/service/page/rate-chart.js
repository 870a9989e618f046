// The reward rate over time against the best guess, the mean of the recommended arm.

import { across, bottomAxis, Chart, scale, textTable, valueAxis } from "./axes.js";
import { s } from "./dom.js";
import { count, mean, moment } from "./format.js";
import { rates } from "./history.js";

const HEIGHT = 240;
const LEFT = 52;
const RIGHT = 14;
const TOP = 8;
const BOTTOM = 24;
const MOST_ROWS = 40;

export function rateChart(history) {
  let best = null;
  let drawn = null;

  const chart = new Chart({ height: HEIGHT, legend, draw, table, point });
  return {
    element: chart.element,
    close: () => chart.close(),
    update(bandit) {
      best = bandit.best_guess;
      chart.update();
    },
  };

  function legend() {
    return [
      ["line rate", "reward rate"],
      ["line best", "best guess"],
    ];
  }

  function draw(width) {
    const line = rates(history.points);
    drawn = null;
    if (line.length < 2) {
      const said = s("text", { class: "quiet", x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" });
      said.append("The rate is drawn once rewards have come in.");
      return { marks: [said], text: "Reward rate: too few rewards yet." };
    }
    const guesses = line.filter(({ point }) => point.best_guess != null);
    const values = [...line.map(({ rate }) => rate), ...guesses.map(({ point }) => point.best_guess)];
    if (best != null) values.push(best);
    const axis = valueAxis(Math.min(...values), Math.max(...values));
    const from = history.points[0].at; // the chart beside it begins there, too
    const to = line[line.length - 1].at;
    const { x, ticks } = across(history, LEFT, width - RIGHT);
    const y = scale(axis.from, axis.to, HEIGHT - BOTTOM, TOP);
    drawn = { line, x };

    const grid = s("g", { class: "axis" });
    for (const value of axis.ticks) {
      const place = Math.round(y(value)) + 0.5;
      grid.append(s("line", { x1: LEFT, x2: width - RIGHT, y1: place, y2: place }));
      grid.append(s("text", { x: LEFT - 8, y: place + 4, "text-anchor": "end" }, axis.text(value)));
    }
    const marks = [bottomAxis(ticks, TOP, HEIGHT - BOTTOM, LEFT, width), grid];
    if (best != null) {
      // Before the first point that tells the best guess, the present one is drawn.
      const told = guesses.map((one) => [one.at, one.point.best_guess]);
      const path = [[from, told.length ? told[0][1] : best], ...told, [to, best]];
      marks.push(s("path", { class: "line best", d: pathOf(path, x, y) }));
    }
    marks.push(s("path", { class: "line rate", d: pathOf(line.map(({ at, rate }) => [at, rate]), x, y) }));
    const last = line[line.length - 1];
    marks.push(s("circle", { class: "dot", cx: x(last.at), cy: y(last.rate), r: 3.5 }));
    const text =
      `Line chart of the reward rate from ${moment(from)} to ${moment(to)}. ` +
      `It began at ${mean(line[0].rate)} and is ${mean(last.rate)} now; the best guess is ${mean(best)}.`;
    return { marks, text };
  }

  function point(left) {
    if (!drawn || left < LEFT - 10) return null;
    const off = ({ at }) => Math.abs(drawn.x(at) - left);
    const near = drawn.line.reduce((a, b) => (off(b) < off(a) ? b : a));
    const guess = near.point.best_guess == null ? "" : `, best guess ${mean(near.point.best_guess)}`;
    return `${moment(near.at)}: rate ${mean(near.rate)}${guess}, ${count(near.point.rewards)} rewards`;
  }

  function table() {
    const line = rates(history.points);
    const every = Math.max(1, Math.ceil(line.length / MOST_ROWS));
    const rows = line
      .filter((_, index) => (line.length - 1 - index) % every === 0)
      .map(({ at, rate, point: p }) => [moment(at), mean(rate), count(p.decisions), count(p.rewards)]);
    const heads = ["Time", "Rate", "Decisions", "Rewards"];
    return textTable(`Reward rate, as of ${moment(Date.now())}`, heads, rows);
  }
}

function pathOf(points, x, y) {
  return points.map(([at, value], n) => `${n ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}
