// The view of one bandit: tiles, arms in memory, charts, totals, snippets.

import { armsTable } from "./arms-table.js";
import { openAdd, openChange, openDelete, openWithdraw } from "./dialogs.js";
import { copyOf, fillPairs, setAttribute, setText, shownLabel } from "./dom.js";
import { bytes, count, counted, duration, full, mean, NONE, share } from "./format.js";
import { History } from "./history.js";
import { memoryChart } from "./memory-chart.js";
import { rateChart } from "./rate-chart.js";
import { snippetTabs } from "./snippets.js";

/** The view of the bandit of this name; `onChange` is called after a change, `onDeleted` at its end. */
export function banditView(name, { onChange, onDeleted }) {
  const { content, place } = copyOf("view-bandit");
  const history = new History();
  const arms = armsTable((arm) => openWithdraw({ name, arm, done: onChange }));
  const rate = rateChart(history);
  const lanes = memoryChart(history);
  let shown = null;

  setText(place.name, name);
  place.arms.append(arms.element);
  place.rate.append(rate.element);
  place.lanes.append(lanes.element);
  place.snippets.append(snippetTabs(name));
  place.across.addEventListener("change", () => {
    history.across = place.across.value;
    drawCharts();
  });
  place.add.addEventListener("click", () => openAdd({ name, done: onChange }));
  place.withdraw.addEventListener("click", () => openWithdraw({ name, done: onChange }));
  place.change.addEventListener("click", () => shown && openChange({ name, bandit: shown, done: onChange }));
  place.delete.addEventListener("click", () => openDelete({ name, done: onDeleted }));

  return {
    content,
    history,
    close() {
      for (const part of [arms, rate, lanes]) part.close();
    },
    /** Show a bandit, unless a later state is shown already: answers may overtake one another. */
    update(bandit) {
      if (shown && bandit.last_seq < shown.last_seq) return;
      shown = bandit;
      draw(bandit);
    },
    drawCharts,
    notice(text) {
      place.notice.hidden = !text;
      setText(place.notice, text);
    },
  };

  function draw(bandit) {
    const size = bandit.open ? `${counted(bandit.arms, "arm")} posted, open end` : counted(bandit.arms, "arm");
    setText(place.summary, `${bandit.title}, memory ${count(bandit.memory)}, ${size}`);
    setText(place.place, bandit.place);
    drawTiles(bandit);
    arms.update(bandit);
    drawCharts();
    fillPairs(place.totals, totals(bandit));
    fillPairs(place.delays, delays(bandit));
    fillPairs(place.settings, settings(bandit));
  }

  function drawCharts() {
    if (!shown) return;
    rate.update(shown);
    lanes.update(shown);
  }

  function drawTiles(bandit) {
    const label = shownLabel(bandit.recommended);
    setText(place.recommended, label);
    setAttribute(place.recommended.parentElement, "title", label);
    const guess = bandit.best_guess;
    setText(place["recommended-note"], guess == null ? "no rewards yet" : `mean ${mean(guess)}, the best guess`);
    setText(place.recent, mean(bandit.recent_rate));
    setText(place["recent-note"], `${mean(bandit.reward_rate)} overall`);
    setText(place.decisions, count(bandit.decisions));
    setText(place["decisions-note"], counted(bandit.rewards, "reward"));
    setText(place.waiting, count(bandit.waiting));
    setText(place["waiting-note"], `${share(bandit.waiting, bandit.decisions)} of decisions`);
    drawTried(bandit);
  }

  /** In later passes over the arms each is tried again, and counted again. */
  function drawTried({ arms, arms_tried: tried }) {
    const again = tried > arms;
    setText(place.tried, tried == null ? NONE : count(again ? arms : tried));
    const note = again ? `all, in ${count(tried)} trials` : `of ${count(arms)}`;
    setText(place["tried-note"], tried == null ? "not counted" : note);
  }
}

function totals(bandit) {
  return [
    ["Decisions", count(bandit.decisions)],
    ["Rewards", count(bandit.rewards)],
    ["Awaiting a reward", count(bandit.waiting)],
    ["Forgotten", count(bandit.forgotten), "Rewards of arms that had left memory"],
    ["Dropped", count(bandit.dropped), "Decisions whose reward will never come"],
  ];
}

function delays({ delay, expired, late }) {
  return [
    ["Mean", duration(delay?.mean)],
    ["Median", duration(delay?.p50)],
    ["90th percentile", duration(delay?.p90)],
    ["99th percentile", duration(delay?.p99)],
    ["Expired", count(expired), "Decisions whose window ended"],
    ["Came too late", count(late), "Rewards that came after the window; kept in the log"],
  ];
}

function settings(bandit) {
  const given = Object.entries(bandit.settings).map(([name, value]) => [name, String(value)]);
  return [
    ["Policy", bandit.policy],
    ...given,
    ["Window", bandit.window == null ? "none" : duration(bandit.window)],
    ["Default reward", bandit.default == null ? "none" : String(bandit.default)],
    ["Explore", String(bandit.explore)],
    ...(bandit.rescale ? [["Rewards from, to", bandit.rescale.join(", ")]] : []),
    ["Seed", String(bandit.seed)],
    ["State", bytes(bandit.state_bytes)],
    ["Created", full(Date.parse(bandit.created_at))],
  ];
}
