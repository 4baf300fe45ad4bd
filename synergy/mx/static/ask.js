// Asking the REST API for something.

const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

/** An answer that is not a success: `status`, `detail` for a person, `errors` [{where, detail}].
 *
 * `isPassing`: the same may be asked again in a moment, under the same key. Else it was refused.
 */
export class Problem extends Error {
  constructor(status, detail, errors = [], isPassing = status === 0 || status >= 500) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.isPassing = isPassing;
  }

  get isRefusal() { return !this.isPassing; }
}

/** A word that names one request, however often it is sent. */
export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID(); // only where the page came over TLS or loopback
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Asks, and returns {status, data, location}; throws Problem. `dryRun` only asks what would be
 * touched. A `key` that is given again makes the same request happen once; null is for what changes
 * nothing, so that no answer is kept. GET and DELETE take `body` as query parameters.
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
  const answer = await fetch(url, request).catch(() => null);
  if (answer === null) throw new Problem(0, "MX does not respond: it may be restarting. Try again in a moment.");
  const data = await answer.json().catch(() => null);
  if (answer.ok) return { status: answer.status, data, location: answer.headers.get("Location") };
  throw await problemOf(answer, data);
}

/** The problem in an answer. Whoever is no longer logged in is sent to log in. */
export async function problemOf(answer, data) {
  if (answer.status === 401) logIn();
  const detail = data?.detail ?? `MX answered ${answer.status}.`;
  const isPassing = answer.status >= 500 || answer.headers.has("Retry-After");
  return new Problem(answer.status, String(detail), Array.isArray(data?.errors) ? data.errors : [], isPassing);
}

export function logIn() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** An element that shows a problem: its detail, and each mistake that adds to it. */
export function explain(problem) {
  const box = document.createElement("div");
  const words = document.createElement("p");
  words.textContent = problem.detail ?? String(problem);
  box.append(words);
  const more = (problem.errors ?? []).filter((one) => !words.textContent.includes(one.detail));
  if (more.length) {
    const list = document.createElement("ul");
    for (const { where, detail } of more) {
      const item = document.createElement("li");
      item.textContent = where ? `${where}: ${detail}` : detail;
      list.append(item);
    }
    box.append(list);
  }
  return box;
}
