// Instants: in UTC; "3 min ago" is kept up to date; the local time is shown on hover.

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];
const UPDATE_MS = 10000;

const local = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium", timeStyle: "long",
});

// Milliseconds by which the clock of MX is ahead of this machine's: ages are those on MX's clock.
const ahead = Date.parse(document.body.dataset.now) - Date.now() || 0;

/** The distance of an instant from now: "3 min ago", "in 2 h"; worded as in `render.py`. */
export function relative(seconds) {
  const size = Math.abs(seconds);
  if (size < 1) return "now";
  const at = UNITS.findIndex(([, length]) => size >= length);
  const words = `${Math.floor(size / UNITS[at][1])} ${UNITS[at][0]}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

/** Brings the relative times below `root` up to date. */
export function refreshTimes(root = document) {
  for (const time of root.querySelectorAll("time[data-ago]")) {
    const words = relative((Date.now() + ahead - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== words) time.textContent = words;
  }
}

function explainOnHover(event) {
  const time = event.target.closest?.("time[datetime]");
  if (!time || time.dataset.explained) return;
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  time.dataset.explained = "yes";
  time.title = `${at.toISOString().replace("T", " ").replace(/\.\d+Z$/, "")} UTC\n${local.format(at)}`;
}

function showOffset() {
  const place = document.getElementById("local-time");
  const minutes = -new Date().getTimezoneOffset();
  if (!place || minutes === 0) return;
  const size = Math.abs(minutes);
  const clock = `${Math.floor(size / 60)}:${String(size % 60).padStart(2, "0")}`;
  place.textContent = ` Your clock is at UTC${minutes > 0 ? "+" : "−"}${clock}; hover over a time to see it in yours.`;
}

export function startTimes() {
  refreshTimes();
  showOffset();
  setInterval(() => document.hidden || refreshTimes(), UPDATE_MS);
  document.addEventListener("mouseover", explainOnHover);
  document.addEventListener("focusin", explainOnHover);
}
