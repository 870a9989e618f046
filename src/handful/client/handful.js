/**
 * The service from JavaScript: browsers, and Node 18 or newer. One file without dependencies.
 *
 *     import { Client } from "./handful.js";
 *     const client = new Client("https://bandits.example");
 *     const decision = await client.decide("front", { fallback: "headline 1" });
 *     show(decision.arm);
 *     onClick(() => client.reward(decision, 1));
 *
 * It works as the Python client does. A request is sent again, with the same body and the same
 * Idempotency-Key, after a failed connection, a time-out, 429, 502, 503 and 504, so that nothing
 * counts twice. What the service refuses (4xx) is a ClientError at once. If the service does not
 * answer, `decide` returns the fallback, whose reward is not sent. All times are milliseconds.
 */

/** The id of every fallback decision. The service gives out no such id. */
export const FALLBACK_ID = "fallback";

/** The patience of a client; see `Limits` of the Python client, which counts in seconds. */
export const LIMITS = Object.freeze({
  timeout: 2000, // how long one attempt may take
  total: 10000, // how long a call may take, waits between attempts included
  attempts: 5, // how often a call is tried at most
  firstWait: 50, // before the second attempt; doubled before each further one
  longestWait: 2000, // between two attempts, unless Retry-After asks for more
  failures: 3, // failed attempts in a row after which fallbacks are used at once,
  pause: 5000, // for so long, until one call tries again
});

const BATCH = 1000; // the most rewards that are sent in one request
const RETRIED = new Set([429, 502, 503, 504]);

/** A call without a usable answer. `status` is null if there was none; `refused` means 4xx. */
export class ClientError extends Error {
  constructor(message, { status = null, title = "", detail = "", requestId = "" } = {}) {
    super(message);
    this.name = "ClientError";
    Object.assign(this, { status, title, detail, requestId });
    this.refused = status !== null && status >= 400 && status < 500 && status !== 429;
  }
}

export class Client {
  #url;
  #key;
  #limits;
  #failuresInARow = 0;
  #openUntil = 0;

  /**
   * @param {string} url where `handful serve` listens; "" for the origin of the page
   * @param {{key?: string} & Partial<typeof LIMITS>} options a bearer key, and limits
   */
  constructor(url, { key = null, ...limits } = {}) {
    for (const [name, value] of Object.entries(limits)) {
      if (!(name in LIMITS) || !(value >= 0)) {
        throw new TypeError(`${name}=${value}: give ${Object.keys(LIMITS).join(", ")}, 0 or more`);
      }
    }
    this.#url = url.replace(/\/+$/, "");
    this.#key = key;
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Return {id, arm, key, probability, isFallback}; with n, an array of n of them.
   *
   * @param {string} name
   * @param {{n?: number, allowed?: string[], key?: string, keys?: string[], fallback?: string,
   *   total?: number}} options
   */
  async decide(name, { n, allowed, key, keys, fallback, total } = {}) {
    if (fallback !== undefined && allowed !== undefined && !allowed.includes(fallback)) {
      throw new TypeError(`the fallback ${fallback} is not among the allowed arms`);
    }
    const many = n !== undefined;
    const hasFallback = fallback !== undefined;
    let decisions = null;
    if (!hasFallback || this.#asks()) {
      try {
        const path = `/v1/bandits/${encodeURIComponent(name)}/decisions`;
        const body = { n, allowed, key, keys };
        const answer = await this.#call("POST", path, body, { total, hasFallback });
        decisions = listed(answer, "decisions").map((one) => {
          const { id, arm, key = null, probability = null } = one;
          return { id, arm, key, probability, isFallback: false };
        });
      } catch (error) {
        if (!hasFallback || error.refused) throw error;
      }
    }
    decisions ??= Array.from({ length: n ?? 1 }, (_, i) => {
      const own = (many ? keys?.[i] : key) ?? null;
      return { id: FALLBACK_ID, arm: fallback, key: own, probability: null, isFallback: true };
    });
    return many ? decisions : decisions[0];
  }

  /**
   * Give the reward of a decision, or of its id. Return what became of it: credited, forgotten,
   * duplicate, expired, or ignored for a fallback. It is sent even if the page is left meanwhile.
   */
  async reward(decision, reward) {
    const id = idOf(decision);
    finite(reward);
    if (id === FALLBACK_ID) return "ignored";
    const path = `/v1/decisions/${encodeURIComponent(id)}/reward`;
    try {
      return (await this.#call("PUT", path, { reward }, { keepalive: true })).outcome;
    } catch (error) {
      if (error.status === 410) return "expired";
      throw error;
    }
  }

  /**
   * Give many rewards, [[decision or id, reward], ...]; return an outcome for each, in order. Those
   * that are `unavailable` were not taken: send them again later.
   */
  async rewards(pairs) {
    const items = pairs.map(([one, reward]) => ({ id: idOf(one), reward: finite(reward) }));
    const sent = items.filter(({ id }) => id !== FALLBACK_ID);
    const outcomes = [];
    for (let start = 0; start < sent.length; start += BATCH) {
      const body = { rewards: sent.slice(start, start + BATCH) };
      const answer = await this.#call("POST", "/v1/rewards", body);
      outcomes.push(...listed(answer, "outcomes").map(({ outcome }) => outcome));
    }
    let next = 0;
    return items.map(({ id }) => (id === FALLBACK_ID ? "ignored" : outcomes[next++]));
  }

  /** Close a decision whose reward will not come. */
  async drop(decision) {
    const id = idOf(decision);
    if (id === FALLBACK_ID) return "ignored";
    const path = `/v1/decisions/${encodeURIComponent(id)}`;
    return (await this.#call("DELETE", path)).outcome;
  }

  /** Return a bandit as the service shows it: settings, counters, arms in memory. */
  async bandit(name) {
    return this.#call("GET", `/v1/bandits/${encodeURIComponent(name)}`);
  }

  /** Whether a call that has a fallback should ask the service now. */
  #asks() {
    if (this.#failuresInARow < this.#limits.failures) return true;
    if (performance.now() < this.#openUntil) return false;
    this.#openUntil = performance.now() + this.#limits.pause;
    return true;
  }

  /** Return the parsed answer of the first attempt that gets one. */
  async #call(method, path, body, { total, hasFallback, keepalive } = {}) {
    const { timeout, attempts, firstWait, longestWait, failures, pause } = this.#limits;
    const deadline = performance.now() + (total ?? this.#limits.total);
    const headers = { Accept: "application/json" };
    if (this.#key !== null) headers.Authorization = `Bearer ${this.#key}`;
    if (method === "POST" || method === "DELETE") headers["Idempotency-Key"] = newKey();
    const request = { method, headers, keepalive };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    for (let attempt = 1; ; attempt++) {
      const left = Math.min(timeout, deadline - performance.now());
      const got = await this.#attempt(path, request, left);
      if (got.status !== null && got.status < 500 && !RETRIED.has(got.status)) {
        this.#failuresInARow = 0;
        return read(method, path, got);
      }
      this.#failuresInARow += 1;
      const isOpen = this.#failuresInARow >= failures;
      if (isOpen) this.#openUntil = performance.now() + pause;
      const longest = Math.min(longestWait, firstWait * 2 ** (attempt - 1));
      const wait = Math.max(longest * (0.5 + 0.5 * Math.random()), 1000 * got.retryAfter);
      const canPass = got.status === null || RETRIED.has(got.status);
      const late = performance.now() + wait >= deadline;
      if (!canPass || attempt >= attempts || (hasFallback && isOpen) || late) {
        throw failure(`${method} ${path} was tried ${attempt} times`, got);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Send a request once. Without an answer, the status is null. */
  async #attempt(path, request, timeout) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeout);
    try {
      const answer = await fetch(this.#url + path, { ...request, signal: controller.signal });
      const retryAfter = Math.max(0, Number(answer.headers.get("Retry-After"))) || 0;
      return { status: answer.status, text: await answer.text(), retryAfter };
    } catch (error) {
      const reason = controller.signal.aborted ? "no answer in time" : error.message;
      return { status: null, text: "", retryAfter: 0, reason };
    } finally {
      clearTimeout(timer);
    }
  }
}

function read(method, path, got) {
  if (got.status >= 400) throw failure(`${method} ${path} was refused`, got);
  const data = got.text === "" ? null : parsed(got.text);
  if (got.status >= 300 || data === undefined) {
    throw failure(`${method} ${path} was not answered by the service`, got);
  }
  return data;
}

function failure(what, { status, text, reason }) {
  const { title = "", detail = "", request_id: requestId = "" } = parsed(text) ?? {};
  const said = [title, detail].filter(Boolean).join(": ") || reason || `status ${status}`;
  return new ClientError(`${what}: ${said}`, { status, title, detail, requestId });
}

function listed(answer, name) {
  if (Array.isArray(answer?.[name])) return answer[name];
  throw new ClientError(`the answer has no ${name}: is this the address of \`handful serve\`?`);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function idOf(decision) {
  const id = typeof decision === "string" ? decision : decision?.id;
  if (typeof id !== "string" || id === "") throw new TypeError("give a decision or its id");
  return id;
}

function finite(reward) {
  if (!Number.isFinite(reward)) throw new TypeError(`reward=${reward} is not a finite number`);
  return reward;
}

/** A random id. Browsers have crypto.randomUUID on secure origins only, Node from 19 on. */
function newKey() {
  const part = () => Math.random().toString(16).slice(2).padEnd(13, "0");
  return globalThis.crypto?.randomUUID?.() ?? part() + part() + part();
}
