// The event stream: one connection for each page, opened when a part of the page needs it, and closed
// when the page was hidden for `LEAVE_MS`, because browsers allow few connections to one host.
// Each message becomes a `synergy:<noun>` event of the document; `synergy:behind` means that events
// were skipped, so that everything has to be reloaded.

export const NOUNS = [...document.body.dataset.nouns.split(" "), "behind"];
const LEAVE_MS = 5000; // how long a page may be hidden; also the wait after a refused connection
const CHECK_MS = 10000; // between two checks of the clock
const ASLEEP_MS = 45000; // a longer time between two checks shows that the machine slept

let source = null;
let wanted = false;
let leaving = 0;
let missed = false;
let seen = document.body.dataset.seq ?? ""; // the last journal entry that the page shows
let checkedAt = Date.now();

const dispatch = (noun, detail) => document.dispatchEvent(new CustomEvent(`synergy:${noun}`, { detail }));

/** Opens the stream; repeated calls have no effect. */
export function listen() {
  wanted = true;
  if (source === null && !document.hidden) open();
}

/** Opens the stream if a part of the page needs it.
 *
 * Events before the first listener are lost. So a page whose own script is loaded later has
 * `data-listens`, and leaves it to that script to open the stream.
 */
export function listenIfNeeded() {
  if (document.querySelector("[data-listens]")) return;
  if (document.querySelector('[hx-trigger*="synergy:"], [data-live]')) listen();
}

// Opens the stream after the last entry seen. If none is known and the stream was closed before,
// everything may have changed: `behind`.
function open() {
  show("away", "connecting");
  source = new EventSource(seen ? `/api/v1/stream?since=${seen}` : "/api/v1/stream");
  source.onopen = () => {
    show("on", "live");
    if (missed && !seen) dispatch("behind", {});
    missed = false;
  };
  source.onerror = () => {
    show("away", "reconnecting");
    if (source?.readyState !== EventSource.CLOSED) return;
    close(); // refused, not lost: the browser does not reconnect by itself
    setTimeout(() => wanted && source === null && !document.hidden && open(), LEAVE_MS);
  };
  for (const noun of NOUNS) {
    source.addEventListener(noun, (message) => {
      seen = message.lastEventId || seen;
      dispatch(noun, parsed(message.data));
    });
  }
}

function close() {
  source?.close();
  source = null;
  missed = true;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function show(state, words) {
  const place = document.getElementById("live");
  if (!place) return;
  place.hidden = false;
  place.dataset.live = state;
  if (place.textContent !== words) place.textContent = words;
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(leaving);
  if (!wanted) return;
  if (!document.hidden) {
    if (source === null) open();
    return;
  }
  leaving = setTimeout(close, LEAVE_MS);
});
addEventListener("pagehide", close);
addEventListener("pageshow", () => wanted && listen());

// After a sleep the connection may be dead without the browser noticing.
setInterval(() => {
  const slept = Date.now() - checkedAt > ASLEEP_MS;
  checkedAt = Date.now();
  if (!slept || source === null) return;
  close();
  open();
}, CHECK_MS);
