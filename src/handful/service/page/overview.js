// The list of bandits: a table on the first page, and links beside a chosen bandit.

import { call } from "./api.js";
import { copyOf, h, setAttribute, setText, shownLabel } from "./dom.js";
import { count, counted } from "./format.js";

const PAGE = 100;

export const banditLink = (name) => `#/bandits/${encodeURIComponent(name)}`;

/** The bandits by name, as far as they were asked for. */
export class Bandits {
  constructor() {
    this.rows = [];
    this.next = null;
    this.pages = 1;
  }

  /** Load all pages that are shown; resolves to the rows. Nothing changes if it is aborted. */
  async load(signal) {
    const rows = [];
    let after = null;
    for (let page = 0; page < this.pages; page += 1) {
      const query = new URLSearchParams({ limit: PAGE });
      if (after != null) query.set("after", after);
      const answer = await call("GET", `v1/bandits?${query}`, undefined, signal);
      rows.push(...answer.bandits);
      after = answer.next;
      if (after == null) break;
    }
    signal.throwIfAborted();
    this.rows = rows;
    this.next = after;
    return rows;
  }

  /** Take in one bandit from the stream. A new one is put in its place by name. */
  take(bandit) {
    const index = this.rows.findIndex(({ name }) => name === bandit.name);
    if (index >= 0) this.rows[index] = bandit;
    else {
      this.rows.push(bandit);
      this.rows.sort((a, b) => (a.name < b.name ? -1 : 1));
    }
  }

  drop(name) {
    this.rows = this.rows.filter((row) => row.name !== name);
  }
}

/** The table of all bandits. */
export function overview(bandits, onMore) {
  const { content, place } = copyOf("view-overview");
  const rows = [];
  place.filter.addEventListener("input", () => update());
  place.more.addEventListener("click", onMore);
  return { content, update };

  function update() {
    const wanted = place.filter.value.trim().toLowerCase();
    const shown = bandits.rows.filter(({ name }) => name.toLowerCase().includes(wanted));
    place["filter-label"].hidden = bandits.rows.length < 8 && wanted === "";
    place.more.hidden = bandits.next == null;
    const more = bandits.next == null ? "" : ", and more";
    const all = `${counted(bandits.rows.length, "bandit")}${more}`;
    setText(place.count, wanted ? `${count(shown.length)} of ${all}` : all);
    while (rows.length < shown.length) rows.push(newRow(place.rows));
    while (rows.length > shown.length) rows.pop().element.remove();
    shown.forEach((bandit, index) => fill(rows[index], bandit));
  }
}

function newRow(body) {
  const cell = (head, kind = "number") => h("td", { role: "cell", class: kind, "data-head": head });
  const row = {
    link: h("a", {}, h("bdi")),
    policy: cell("policy", ""),
    recommended: h("bdi"),
    memory: cell("memory"),
    arms: cell("arms"),
    decisions: cell("decisions"),
    rewards: cell("rewards"),
  };
  row.element = h(
    "tr",
    { role: "row" },
    h("th", { role: "rowheader", scope: "row" }, row.link),
    row.policy,
    h("td", { role: "cell", class: "label", "data-head": "recommended" }, row.recommended),
    row.memory,
    row.arms,
    row.decisions,
    row.rewards,
  );
  body.append(row.element);
  return row;
}

function fill(row, bandit) {
  setAttribute(row.link, "href", banditLink(bandit.name));
  setText(row.link.firstChild, bandit.name);
  setText(row.policy, bandit.policy);
  setText(row.recommended, shownLabel(bandit.recommended));
  setAttribute(row.recommended.parentElement, "title", shownLabel(bandit.recommended));
  for (const name of ["memory", "arms", "decisions", "rewards"]) setText(row[name], count(bandit[name]));
}

/** The same list as links, with the chosen one marked. */
export function sideList(element, bandits, chosen) {
  let list = element.querySelector("ul");
  if (!list) element.replaceChildren(h("h2", {}, "Bandits"), (list = h("ul")));
  const { rows } = bandits;
  while (list.children.length > rows.length) list.lastElementChild.remove();
  while (list.children.length < rows.length) {
    list.append(h("li", {}, h("a", {}, h("bdi"), h("span", { class: "muted" }))));
  }
  rows.forEach((bandit, index) => {
    const link = list.children[index].firstElementChild;
    setAttribute(link, "href", banditLink(bandit.name));
    setAttribute(link, "aria-current", bandit.name === chosen ? "page" : null);
    setText(link.firstElementChild, bandit.name);
    setText(link.lastElementChild, counted(bandit.decisions, "decision"));
  });
}
