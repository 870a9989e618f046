// The memory over time: one lane a slot, one bar for each stay of an arm, filled while the arm was
// the recommended one.

import { across, bottomAxis, Chart, textTable } from "./axes.js";
import { s, shownLabel } from "./dom.js";
import { counted, moment } from "./format.js";
import { reigns, stays } from "./history.js";

const HEIGHT = 240; // of the other chart, beside which it stands
const TOP = 4;
const BOTTOM = 24;
const MOST_LANES = 16;
const MOST_ROWS = 200;
const LETTER = 6.7; // the width of a letter of a bar's label, about

export function memoryChart(history) {
  let slots = 1;
  let drawn = null;

  const chart = new Chart({ height: heightOf(4), legend, draw, table, point });
  return {
    element: chart.element,
    close: () => chart.close(),
    update(bandit) {
      slots = Math.max(1, Math.min(bandit.memory, bandit.arms));
      chart.update();
    },
  };

  function legend() {
    return [
      ["stay reign", "recommended"],
      ["stay", "in memory"],
    ];
  }

  function draw(width) {
    const points = history.points;
    const found = laidOut(points, slots);
    const lanes = Math.min(MOST_LANES, Math.max(found.lanes, slots));
    const lane = laneHeight(lanes);
    const height = heightOf(lanes);
    drawn = null;
    if (points.length < 2) {
      const said = s("text", { class: "quiet", x: width / 2, y: height / 2, "text-anchor": "middle" });
      said.append("Arms appear here with the first decisions.");
      return { marks: [said], text: "Memory over time: no decisions yet.", height };
    }
    const to = points[points.length - 1].at;
    const { x, ticks } = across(history, 0, width);
    const ruled = reigns(points);
    drawn = { found, x, to, lane };
    const marks = [bottomAxis(ticks, TOP, height - BOTTOM, 0, width)];
    for (let index = 0; index < lanes; index += 1) {
      marks.push(s("rect", { class: "lane", x: 0, y: TOP + index * lane + 2, width, height: lane - 4, rx: 3 }));
    }
    for (const stay of found.stays) {
      if (stay.lane < lanes) marks.push(bar(stay, ruled, x, to, lane));
    }
    return { marks, text: inWords(points, found), height };
  }

  function bar(stay, ruled, x, now, lane) {
    const left = x(stay.from);
    // Bars of one lane touch; a pixel between them shows that the arm changed.
    const right = Math.max(left + 1, x(stay.to ?? now) - 1);
    const y = TOP + stay.lane * lane + 2;
    const box = { y, height: lane - 4, rx: 3 };
    const group = s("g", {}, s("rect", { class: "stay", x: left, width: right - left, ...box }));
    let rest = left;
    let room = { start: left, end: left, kind: "on-stay" };
    const offer = (start, end, kind) => {
      if (end - start > room.end - room.start) room = { start, end, kind };
    };
    for (const reign of ruled) {
      if (reign.arm !== stay.arm) continue;
      const start = Math.max(left, x(reign.from));
      const end = Math.min(right, x(reign.to ?? now));
      if (end <= start) continue;
      group.append(s("rect", { class: "stay reign", x: start, width: end - start, ...box }));
      offer(rest, start, "on-stay");
      offer(start, end, "on-reign");
      rest = end;
    }
    offer(rest, right, "on-stay");
    const text = cut(shownLabel(stay.arm), Math.floor((room.end - room.start - 12) / LETTER));
    if (text) group.append(s("text", { class: room.kind, x: room.start + 6, y: y + lane / 2 + 2 }, text));
    return group;
  }

  function point(left, top) {
    if (!drawn) return null;
    const lane = Math.floor((top - TOP) / drawn.lane);
    const isHere = ({ from, to }) => drawn.x(from) <= left && left <= drawn.x(to ?? drawn.to);
    const stay = drawn.found.stays.findLast((one) => one.lane === lane && isHere(one));
    if (!stay) return null;
    return `${shownLabel(stay.arm)}: ${moment(stay.from)} to ${stay.to == null ? "now" : moment(stay.to)}`;
  }

  function table() {
    const found = stays(history.points).stays;
    const rows = found.slice(-MOST_ROWS).reverse();
    return textTable(
      `The last ${counted(rows.length, "stay")} in memory, newest first, as of ${moment(Date.now())}`,
      ["Arm", "From", "To"],
      rows.map(({ arm, from, to }) => [shownLabel(arm), moment(from), to == null ? "now" : moment(to)]),
    );
  }
}

/** Few lanes share the height that there is; many need more. */
function laneHeight(lanes) {
  return Math.min(52, Math.max(20, Math.floor((HEIGHT - TOP - BOTTOM) / lanes)));
}

function heightOf(lanes) {
  return Math.max(HEIGHT, TOP + lanes * laneHeight(lanes) + BOTTOM);
}

/** A label in so many letters, or nothing where it could not be told from others. */
function cut(label, letters) {
  if (label.length <= letters) return label;
  return letters >= 5 ? `${label.slice(0, letters - 1)}…` : "";
}

/**
 * The stays in lanes. Where there are too many lanes, one for each of the arms that were recommended
 * or else in memory for longest.
 */
function laidOut(points, slots) {
  const found = stays(points);
  if (Math.max(found.lanes, slots) <= MOST_LANES) return found;
  const end = points.length ? points[points.length - 1].at : 0;
  const stayed = timeOf(found.stays, end);
  const reigned = timeOf(reigns(points), end);
  const kept = [...stayed.keys()]
    .sort((a, b) => (reigned.get(b) ?? 0) - (reigned.get(a) ?? 0) || stayed.get(b) - stayed.get(a))
    .slice(0, MOST_LANES);
  const lane = new Map(kept.map((arm, index) => [arm, index]));
  return {
    stays: found.stays.filter(({ arm }) => lane.has(arm)).map((stay) => ({ ...stay, lane: lane.get(stay.arm) })),
    lanes: kept.length,
  };
}

function timeOf(spans, end) {
  const time = new Map();
  for (const { arm, from, to } of spans) time.set(arm, (time.get(arm) ?? 0) + (to ?? end) - from);
  return time;
}

function inWords(points, found) {
  const arms = new Set(found.stays.map(({ arm }) => arm)).size;
  const now = points[points.length - 1];
  const reign = reigns(points).at(-1);
  const since = reign ? ` ${shownLabel(reign.arm)} has been recommended since ${moment(reign.from)}.` : "";
  return (
    `Chart of the arms in memory from ${moment(points[0].at)} to ${moment(now.at)}: ` +
    `${counted(arms, "arm")} in all, ${now.memory.length} of them now.${since}`
  );
}
