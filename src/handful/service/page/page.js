// The page: which view is shown, what is followed, and the bar on top.

import { banditPath, call, key, now, onLocked } from "./api.js";
import { banditView } from "./bandit.js";
import { createForm } from "./create.js";
import { openKey } from "./dialogs.js";
import { copyOf, h, setText } from "./dom.js";
import { follow, poll } from "./live.js";
import { banditLink, Bandits, overview, sideList } from "./overview.js";
import { codeBlock, firstBandit } from "./snippets.js";

const LIST_EVERY = 5_000;
const STATES = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  polling: "Polling",
  locked: "Key needed",
};

const main = document.getElementById("main");
const side = document.getElementById("side");
const state = document.getElementById("state");
const bandits = new Bandits();
let close = () => {};
let locked = false;

/** Replace the view. The focus goes to its heading, unless the page has just been opened. */
function show(content, title, { beside = false } = {}) {
  const first = main.childElementCount === 0 || main.querySelector("noscript") !== null;
  main.replaceChildren(content);
  side.hidden = !beside;
  document.getElementById("frame").classList.toggle("beside", beside);
  document.title = title ? `${title} · handful` : "handful";
  if (first) return;
  scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

function showState(name) {
  state.dataset.state = name;
  setText(state, STATES[name]);
}

function showMessage(title, text, ...actions) {
  const { content, place } = copyOf("view-message");
  setText(place.title, title);
  setText(place.text, text);
  place.actions.append(...actions);
  show(content, title);
}

/** The first page: the list, or how to begin where there is none. */
function showList() {
  let view = null;
  let stream = null;
  const draw = () => {
    if (bandits.rows.length === 0) {
      if (view !== "empty") showEmpty();
      view = "empty";
    } else if (view !== "empty" || !isFormInUse()) {
      if (view === null || view === "empty") {
        view = overview(bandits, more);
        show(view.content, "Bandits");
      }
      view.update();
    }
  };
  const refresh = async () => {
    await bandits.load();
    draw();
    // One event for every change of every bandit would be too much where there are many.
    if (bandits.next == null || stream === null) return;
    stream.close();
    stream = null;
    const polled = poll(LIST_EVERY, options);
    close = () => polled.close();
  };
  const more = () => {
    bandits.pages += 1;
    refresh().catch(() => {});
  };
  const options = {
    onState: showState,
    refresh: () =>
      refresh().catch((error) => {
        failed(error);
        throw error;
      }),
    onEvent(type, data) {
      if (type === "bandit") bandits.take(data);
      else if (type === "gone") bandits.drop(data.name);
      draw();
    },
  };
  if (bandits.rows.length) draw();
  stream = follow("v1/events", options);
  close = () => stream.close();
}

/** True while something is typed into the form of an empty page, which must not vanish then. */
function isFormInUse() {
  return [...main.querySelectorAll("[name=name], [name=arms]")].some((field) => field.value !== "");
}

function showEmpty() {
  const { content, place } = copyOf("view-empty");
  place.snippet.append(codeBlock(firstBandit(), "curl"));
  place.form.append(createForm(({ name }) => (location.hash = banditLink(name))));
  show(content, "No bandits yet");
}

function showNew() {
  const { content, place } = copyOf("view-new");
  place.form.append(createForm(({ name }) => (location.hash = banditLink(name))));
  show(content, "New bandit");
  const polled = poll(LIST_EVERY, {
    onState: (name) => showState(name === "polling" ? "live" : name),
    refresh: () => bandits.load(),
  });
  close = () => polled.close();
}

function showBandit(name) {
  const view = banditView(name, {
    onChange: () => refresh().catch(() => {}),
    onDeleted: () => (location.hash = "#/"),
  });
  show(view.content, name, { beside: true });
  sideList(side, bandits, name);

  const loadHistory = async () => {
    view.history.load(await call("GET", banditPath(name, "/history")));
    view.drawCharts();
  };
  const refresh = async () => {
    const bandit = await call("GET", banditPath(name));
    view.notice("");
    await loadHistory();
    take(bandit);
  };
  const take = (bandit) => {
    view.history.add(bandit, now());
    if (!document.hidden) view.update(bandit);
    if (view.history.full) loadHistory().catch(() => {});
  };
  const gone = () => {
    close();
    const text = `There is no bandit named ${name}: it was deleted, or never created.`;
    showMessage("This bandit is gone", text, h("a", { class: "button", href: "#/" }, "All bandits"));
  };
  const stream = follow(`v1/events?${new URLSearchParams({ bandit: name })}`, {
    onState: showState,
    refresh: () =>
      refresh().catch((error) => {
        if (error.status === 404) return gone();
        failed(error, view);
        throw error;
      }),
    onEvent(type, data) {
      if (type === "bandit" && data.name === name) take(data);
      else if (type === "gone" && data.name === name) gone();
    },
  });
  const loadList = async () => {
    await bandits.load();
    sideList(side, bandits, name);
  };
  loadList().catch(() => {});
  const timer = setInterval(() => loadList().catch(() => {}), LIST_EVERY);
  const seen = () => document.hidden || refresh().catch(() => {});
  document.addEventListener("visibilitychange", seen);
  close = () => {
    stream.close();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
    view.close();
  };
}

/** Say what went wrong where the view has no better place for it. */
function failed(error, view) {
  if (error.status === 401) return; // the key is asked for
  if (view) view.notice(`${error.message} The page keeps trying; the numbers are the last that it was given.`);
  else if (main.querySelector("h1") === null) showMessage("Nothing to show yet", error.message);
}

function route() {
  locked = false;
  close();
  close = () => {};
  const [, view, name] = location.hash.split("/");
  if (view === "new") showNew();
  else if (view === "bandits" && name) showBandit(decoded(name));
  else showList();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Ask for a key, once, however many requests were refused; then begin again with it. */
function askForKey(problem) {
  if (locked) return;
  locked = true;
  showState("locked");
  if (main.querySelector("form")) {
    // What was typed stays; it is sent again by hand.
    openKey({ problem, done: () => ((locked = false), showKeyButton()) });
    return;
  }
  const enter = h("button", { type: "button", class: "primary" }, "Enter a key");
  const open = () => openKey({ problem, done: unlocked });
  enter.addEventListener("click", open);
  close();
  close = () => {};
  showMessage("A key is needed", "This server answers only with a key.", enter);
  open();
}

function unlocked() {
  locked = false;
  showKeyButton();
  route();
}

function showKeyButton() {
  document.getElementById("key-button").hidden = !key();
}

function prepareTheme() {
  const button = document.getElementById("theme-button");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const update = () => button.setAttribute("aria-pressed", isDark());
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("handful.theme", next);
    } catch {
      // Storage may be forbidden; the choice lasts until the page is closed.
    }
    update();
  });
  dark.addEventListener("change", update);
  update();
}

onLocked(askForKey);
prepareTheme();
showKeyButton();
document.getElementById("key-button").addEventListener("click", () => openKey({ done: unlocked }));
// The skip link is a fragment, too: it moves the focus and leaves the view alone.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", route);
route();
