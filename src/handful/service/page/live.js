// Follows a server-sent event stream. It is read by fetch, since EventSource cannot send a key.
// A lost stream is opened again with back-off. After three failures, or where a proxy holds the
// stream back, the page polls until a stream works again.

import { request } from "./api.js";

const SILENCE = 35_000; // the server sends a comment every 15 s
const POLL = 3_000;
const LONGEST = 30_000;
const PATIENCE = 3;
const UNSEEN = 30_000;

/**
 * Follow a stream until closed.
 * `onState` is given live, reconnecting, polling or locked; `refresh` loads what the stream does not
 * tell, at every start, and stands in for the stream while polling; `onEvent` is given type and data.
 */
export function follow(path, { onEvent, onState, refresh }) {
  const closing = new AbortController();
  let wake = () => {};
  let hang = () => {};
  let unseen = 0;
  const now = () => wake();
  // A browser opens six connections to a server, so tabs that nobody looks at hang up after a while.
  const look = () => {
    clearTimeout(unseen);
    if (document.hidden) unseen = setTimeout(() => hang(), UNSEEN);
    else wake();
  };
  window.addEventListener("online", now);
  document.addEventListener("visibilitychange", look);
  run();
  return {
    close() {
      closing.abort();
      clearTimeout(unseen);
      window.removeEventListener("online", now);
      document.removeEventListener("visibilitychange", look);
      wake();
    },
  };

  async function run() {
    let failures = 0;
    // A proxy may hold even the stream's head back: what is there is shown in any case.
    const early = setTimeout(() => refresh().catch(() => {}), 1000);
    closing.signal.addEventListener("abort", () => clearTimeout(early));
    while (!closing.signal.aborted) {
      try {
        await read(() => {
          clearTimeout(early);
          failures = 0;
          onState("live");
          refresh().catch(() => {});
        });
        failures += 1; // a stream that ends is a server that stops
      } catch (error) {
        if (closing.signal.aborted) return;
        if (error.status === 401) return onState("locked");
        failures += error.message === "silence" ? PATIENCE : 1;
      }
      if (closing.signal.aborted) return;
      if (document.hidden) {
        await sleep(2 ** 31 - 1);
        failures = 0;
        continue;
      }
      onState(failures < PATIENCE ? "reconnecting" : "polling");
      await pause(failures);
    }
  }

  /** Wait for the next attempt; the waits double. From the third failure on, poll meanwhile. */
  async function pause(failures) {
    const wait = Math.min(LONGEST, 500 * 2 ** Math.min(failures, 10)) * (0.75 + Math.random() / 2);
    const end = performance.now() + wait;
    let down = false;
    while (!closing.signal.aborted && performance.now() < end) {
      if (failures >= PATIENCE) {
        try {
          await refresh();
          if (down) return; // the server is back
          onState("polling");
        } catch (error) {
          if (error.status === 401) return;
          down = true;
          onState("reconnecting");
        }
      }
      const woken = await sleep(Math.min(failures < PATIENCE ? wait : POLL, end - performance.now()));
      if (woken) return;
    }
  }

  function sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(0, milliseconds));
      wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  async function read(opened) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    closing.signal.addEventListener("abort", stop);
    hang = stop;
    let silent = false;
    let timer = 0;
    const listen = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        silent = true;
        attempt.abort();
      }, SILENCE);
    };
    try {
      listen();
      const response = await request("GET", path, { signal: attempt.signal, accept: "text/event-stream" });
      opened();
      const parse = parser(onEvent);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        listen();
        parse(value);
      }
    } catch (error) {
      throw silent ? new Error("silence") : error;
    } finally {
      clearTimeout(timer);
      closing.signal.removeEventListener("abort", stop);
    }
  }
}

/** Call `refresh` every so often until closed, where a stream would say too much. */
export function poll(every, { onState, refresh }) {
  const once = () =>
    refresh().then(
      () => onState("polling"),
      (error) => onState(error.status === 401 ? "locked" : "reconnecting"),
    );
  const timer = setInterval(once, every);
  once();
  return { close: () => clearInterval(timer) };
}

/** A function that takes pieces of a stream and gives its events on, as the HTML standard reads them. */
export function parser(onEvent) {
  let rest = "";
  let type = "message";
  let data = [];
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) onEvent(type, JSON.parse(data.join("\n")));
        type = "message";
        data = [];
      } else if (!line.startsWith(":")) {
        const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
        if (name === "event") type = value ?? "";
        else if (name === "data") data.push(value ?? "");
      }
    }
  };
}
