// Requests to the REST API.

import { element } from "./dom.js";

const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

/** A failed request: `status`, `detail` for people, `errors` [{where, detail}].
 *
 * `isTransient`: the same request may succeed in a moment, under the same key; otherwise it was refused.
 */
export class Problem extends Error {
  constructor(status, detail, errors = [], isTransient = status === 0 || status >= 500) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.isTransient = isTransient;
  }

  get isRefusal() { return !this.isTransient; }
}

/** An idempotency key: it names one request, however often it is sent. */
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID(); // browsers offer it only over TLS or loopback
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Sends a request and returns {status, data, location}; throws Problem. `dryRun` asks only what would
 * change. A request with the same `key` is carried out once; with null no key is sent, for requests
 * that change nothing. GET and DELETE take `body` as query parameters.
 */
export async function ask(method, path, body = undefined, { dryRun = false, key = "" } = {}) {
  const sent = dryRun ? { ...body, dry_run: true } : body;
  const headers = { Accept: "application/json" };
  const url = new URL(path, location.origin);
  const request = { method, headers, credentials: "same-origin" };
  if (method === "GET" || method === "DELETE") {
    for (const [name, value] of Object.entries(sent ?? {})) {
      if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
    }
  } else {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(sent ?? {});
  }
  if (method !== "GET") headers["X-CSRF-Token"] = csrf();
  if (method === "POST" && key !== null) headers["Idempotency-Key"] = key || newKey();
  const response = await fetch(url, request).catch(() => null);
  if (response === null) throw new Problem(0, "MX does not respond: it may be restarting. Try again in a moment.");
  const data = await response.json().catch(() => null);
  if (response.ok) return { status: response.status, data, location: response.headers.get("Location") };
  throw await problemOf(response, data);
}

/** The problem in a response; 401 leads to the login page. */
export async function problemOf(response, data) {
  if (response.status === 401) logIn();
  const detail = data?.detail ?? `MX responded with ${response.status}.`;
  const isTransient = response.status >= 500 || response.headers.has("Retry-After");
  return new Problem(response.status, String(detail), Array.isArray(data?.errors) ? data.errors : [], isTransient);
}

export function logIn() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** An element that shows a problem: its detail, and the mistakes that the detail does not name. */
export function explain(problem) {
  const detail = problem.detail ?? String(problem);
  const box = element("div", "", {}, element("p", "", {}, detail));
  const more = (problem.errors ?? []).filter((one) => !detail.includes(one.detail));
  const items = more.map(({ where, detail: text }) => element("li", "", {}, where ? `${where}: ${text}` : text));
  if (items.length) box.append(element("ul", "", {}, ...items));
  return box;
}
