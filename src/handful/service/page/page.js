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
let leaving = new AbortController(); // of the view that is shown
let locked = false;

/** End the view that is shown: whatever it still waits for must not be drawn over the next one. */
function leave() {
  leaving.abort();
  leaving = new AbortController();
  return leaving.signal;
}

/** A function that does nothing once its view was left. */
function whileShown(signal, callback) {
  return (...given) => (signal.aborted ? undefined : callback(...given));
}

/** Close something with its view. */
function closeWith(signal, open) {
  signal.addEventListener("abort", () => open.close());
  return open;
}

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
function showList(signal) {
  let view = null;
  let stream = null;
  const draw = whileShown(signal, () => {
    if (bandits.rows.length === 0) {
      if (view !== "empty") showEmpty(signal);
      view = "empty";
    } else if (view !== "empty" || !isFormInUse()) {
      if (view === null || view === "empty") {
        view = overview(bandits, more);
        show(view.content, "Bandits");
      }
      view.update();
    }
  });
  const refresh = async () => {
    await bandits.load(signal);
    draw();
    // One event for every change of every bandit would be too much where there are many.
    if (signal.aborted || bandits.next == null || stream === null) return;
    stream.close();
    stream = null;
    closeWith(signal, poll(LIST_EVERY, options));
  };
  const more = () => {
    bandits.pages += 1;
    refresh().catch(() => {});
  };
  const options = {
    onState: whileShown(signal, showState),
    refresh: () =>
      refresh().catch((error) => {
        if (!signal.aborted) failed(error);
        throw error;
      }),
    onEvent: whileShown(signal, (type, data) => {
      if (type === "bandit") bandits.take(data);
      else if (type === "gone") bandits.drop(data.name);
      draw();
    }),
  };
  if (bandits.rows.length) draw();
  stream = closeWith(signal, follow("v1/events", options));
}

/** True while something is typed into the form of an empty page, which must not vanish then. */
function isFormInUse() {
  return [...main.querySelectorAll("[name=name], [name=arms]")].some((field) => field.value !== "");
}

function showEmpty(signal) {
  const { content, place } = copyOf("view-empty");
  place.snippet.append(codeBlock(firstBandit(), "curl"));
  place.form.append(newForm(signal));
  show(content, "No bandits yet");
}

/** The form for a new bandit, which leads to it. */
function newForm(signal) {
  return createForm(whileShown(signal, ({ name }) => (location.hash = banditLink(name))));
}

function showNew(signal) {
  const { content, place } = copyOf("view-new");
  place.form.append(newForm(signal));
  show(content, "New bandit");
  const polled = poll(LIST_EVERY, {
    onState: whileShown(signal, (name) => showState(name === "polling" ? "live" : name)),
    refresh: () => bandits.load(signal),
  });
  closeWith(signal, polled);
}

function showBandit(signal, name) {
  const view = banditView(name, {
    onChange: () => refresh().catch(() => {}),
    onDeleted: whileShown(signal, () => (location.hash = "#/")),
  });
  closeWith(signal, view);
  show(view.content, name, { beside: true });
  sideList(side, bandits, name);

  const loadHistory = async () => {
    const history = await call("GET", banditPath(name, "/history"), undefined, signal);
    signal.throwIfAborted();
    view.history.load(history);
    view.drawCharts();
  };
  const refresh = async () => {
    const bandit = await call("GET", banditPath(name), undefined, signal);
    signal.throwIfAborted();
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
    leave();
    const text = `There is no bandit named ${name}: it was deleted, or never created.`;
    showMessage("This bandit is gone", text, h("a", { class: "button", href: "#/" }, "All bandits"));
  };
  const stream = follow(`v1/events?${new URLSearchParams({ bandit: name })}`, {
    onState: whileShown(signal, showState),
    refresh: () =>
      refresh().catch((error) => {
        if (signal.aborted) throw error;
        if (error.status === 404) return gone();
        failed(error, view);
        throw error;
      }),
    onEvent: whileShown(signal, (type, data) => {
      if (type === "bandit" && data.name === name) take(data);
      else if (type === "gone" && data.name === name) gone();
    }),
  });
  closeWith(signal, stream);
  const loadList = async () => {
    await bandits.load(signal);
    sideList(side, bandits, name);
  };
  loadList().catch(() => {});
  const timer = setInterval(() => loadList().catch(() => {}), LIST_EVERY);
  const seen = () => document.hidden || refresh().catch(() => {});
  document.addEventListener("visibilitychange", seen, { signal });
  closeWith(signal, { close: () => clearInterval(timer) });
}

/** Say what went wrong where the view has no better place for it. */
function failed(error, view) {
  if (error.status === 401) return; // the key is asked for
  if (view) view.notice(`${error.message} The page keeps trying; the numbers are the last that it was given.`);
  else if (main.querySelector("h1") === null) showMessage("Nothing to show yet", error.message);
}

function route() {
  locked = false;
  const signal = leave();
  const [, view, name] = location.hash.split("/");
  if (view === "new") showNew(signal);
  else if (view === "bandits" && name) showBandit(signal, decoded(name));
  else showList(signal);
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
  leave();
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
