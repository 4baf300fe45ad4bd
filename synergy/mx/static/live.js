// The stream of what happens: one connection a page, opened when something on it asks for it,
// and given up while nobody looks, because browsers allow few of them to one host.
// Each message becomes a `synergy:<noun>` event of the document; `synergy:behind` says that
// there was more than was told, so that everything is to be read again.

export const NOUNS = [
  "job", "unit", "run", "schedule", "process", "box", "gc", "queue", "timetable", "event",
  "delivery", "agent", "scheduler", "supervisor", "store", "clock", "operation", "user", "behind",
];
const LEAVE_AFTER = 5000; // milliseconds that a page may be hidden
const LOOK = 10000; // milliseconds between two looks at the clock
const ASLEEP = 45000; // milliseconds between them if the machine slept

let source = null;
let wanted = false;
let leaving = 0;
let missed = false;
let seen = document.body.dataset.seq ?? ""; // the last entry that the page was made from, or told
let looked = Date.now();

const say = (noun, detail) => document.dispatchEvent(new CustomEvent(`synergy:${noun}`, { detail }));

/** Has the page follow what happens. May be called often. */
export function listen() {
  wanted = true;
  if (source === null && !document.hidden) open();
}

/** Listens if something on the page waits for the stream.
 *
 * What is told before anybody hears is lost. So a page whose own script is loaded later, and hears
 * then, carries `data-listens`, and that script has it listen.
 */
export function listenIfAsked() {
  if (document.querySelector("[data-listens]")) return;
  if (document.querySelector('[hx-trigger*="synergy:"], [data-live]')) listen();
}

// Goes on after what was seen last. Where that is not known, everything may have changed.
function open() {
  show("away", "connecting");
  source = new EventSource(seen ? `/api/v1/stream?since=${seen}` : "/api/v1/stream");
  source.onopen = () => {
    show("on", "live");
    if (missed && !seen) say("behind", {});
    missed = false;
  };
  source.onerror = () => {
    show("away", "reconnecting");
    if (source?.readyState !== EventSource.CLOSED) return;
    close(); // refused, not lost: the browser does not try again by itself
    setTimeout(() => wanted && source === null && !document.hidden && open(), LEAVE_AFTER);
  };
  for (const noun of NOUNS) {
    source.addEventListener(noun, (message) => {
      seen = message.lastEventId || seen;
      say(noun, parsed(message.data));
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
  leaving = setTimeout(close, LEAVE_AFTER);
});
addEventListener("pagehide", close);
addEventListener("pageshow", () => wanted && listen());

// After a sleep the connection may be dead without the browser having been told.
setInterval(() => {
  const slept = Date.now() - looked > ASLEEP;
  looked = Date.now();
  if (!slept || source === null) return;
  close();
  open();
}, LOOK);
