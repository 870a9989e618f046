// Calls of the API. Addresses are relative to the page, so that the server may live under a prefix.
// The key is kept in sessionStorage and sent as a header, never in an address.

const KEY = "handful.key";
let unlock = () => {};
let ahead = 0;

/** What is called when the server wants a key, or another one. */
export function onLocked(callback) {
  unlock = callback;
}

/** The server's time, by which its points are dated; this machine's clock may be off. */
export function now() {
  return Date.now() + ahead;
}

export function key() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** An answer that is not a success, in the words of its problem+json body. */
export class Problem extends Error {
  constructor(status, body) {
    const said = body?.detail || body?.title;
    super(said ? String(said) : `The server answered ${status}.`);
    this.status = status;
    this.requestId = body?.request_id ?? null;
  }
}

/** The address of the server as programs need it, without a slash at its end. */
export function root() {
  return new URL(".", document.baseURI).href.replace(/\/$/, "");
}

export function banditPath(name, rest = "") {
  return `v1/bandits/${encodeURIComponent(name)}${rest}`;
}

/** The response to a request, once its head has come; anything but a success is thrown. */
export async function request(method, path, { body, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key()) headers.Authorization = `Bearer ${key()}`;
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The server cannot be reached." });
  }
  const off = Date.parse(response.headers.get("Date")) - Date.now();
  ahead = Math.abs(off) > 2_000 ? off : 0; // the header has whole seconds
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => null));
  if (response.status === 401) unlock(problem);
  throw problem;
}

/** The JSON of an answer, or null where it has no body. */
export async function call(method, path, body, signal) {
  const response = await request(method, path, { body, signal });
  return response.status === 204 ? null : response.json();
}
