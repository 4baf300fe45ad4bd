// The log viewer: its window, and the toolbar above. Without scripts the lines are on several pages.

import { element, number } from "./dom.js";
import { LogSource, MOST } from "./log_source.js";
import { detailsOf } from "./log_row.js";
import { LogView } from "./log_view.js";
import { toast } from "./toast.js";

const FOLLOW_MS = 2000; // between two checks for new lines while following
const WATCH_MS = 15000; // the same while not following

const $ = (id) => document.getElementById(id);
const place = $("log");
const home = place.dataset.place;
const tools = $("log-tools");
const follow = $("log-follow");

let isFollowing = false;
let isOpen = false; // whether the details of the selected line are shown
let timer = 0;
let hasFailed = false;

const source = new LogSource(place.dataset.log, {
  changed: update,
  shifted(by) {
    view.top -= by;
    if (view.chosen !== null) view.chosen = view.chosen > by ? view.chosen - by : null;
    view.forget();
  },
  failed(problem) {
    if (!hasFailed) toast(problem.detail ?? String(problem), "danger");
    hasFailed = true;
  },
});
source.total = Number(place.dataset.total);
const panel = element("section", "panel lv-panel", { "aria-label": "Selected line", hidden: "" });
const view = new LogView(place, source, { picked, moved });
place.append(panel);

/* The toolbar */

function update() {
  hasFailed = false;
  $("log-count").textContent = `${number(source.total)} lines`;
  const found = source.matches?.length ?? 0;
  $("log-found").hidden = source.matches === null;
  $("log-clear").hidden = source.matches === null;
  $("log-matches").textContent = source.isSearching
    ? `${number(found)} so far, ${Math.floor((100 * source.searchedTo) / Math.max(1, source.total))} % searched`
    : `${number(found)}${found >= MOST ? "+" : ""} found`;
  $("log-next").disabled = $("log-previous").disabled = !found;
  if (isFollowing) view.toEnd();
  else view.draw();
  if (isOpen && panel.dataset.number !== String(view.chosen)) showDetails();
}

/* Details of a line */

function picked() {
  setFollowing(false);
  isOpen = true;
  showDetails();
}

function showDetails() {
  const line = view.chosen === null ? undefined : source.line(source.indexOf(view.chosen));
  panel.hidden = !isOpen || view.chosen === null;
  if (panel.hidden || !line) {
    panel.dataset.number = "";
    return;
  }
  panel.dataset.number = String(view.chosen);
  const close = element("button", "btn btn-small lv-close", { type: "button" }, "Close");
  close.addEventListener("click", closeDetails);
  panel.replaceChildren(close, detailsOf(line, `${home}?line=${line.number}`));
}

function closeDetails() {
  isOpen = false;
  panel.hidden = true;
  view.box.focus();
}

/* Following */

function setFollowing(wanted) {
  if (isFollowing === wanted || (wanted && !follow)) return;
  isFollowing = wanted;
  follow?.setAttribute("aria-pressed", String(wanted));
  if (wanted) view.toEnd();
  watch();
}

function moved() {
  setFollowing(view.isAtEnd);
}

async function watch() {
  clearTimeout(timer);
  if (!follow) return;
  timer = setTimeout(async () => {
    if (!document.hidden) await source.refresh();
    watch();
  }, isFollowing ? FOLLOW_MS : WATCH_MS);
}

/* Search */

/** Reads the filter, and puts it into the address. */
function readFilter() {
  const filter = { q: $("log-text").value, level: $("log-level").value };
  const all = $("log-all").checked ? "true" : "";
  const parameters = new URLSearchParams(Object.entries({ ...filter, all }).filter(([, value]) => value));
  history.replaceState(null, "", parameters.size ? `${home}?${parameters}` : home);
  return filter;
}

async function find() {
  const filter = readFilter();
  const only = !$("log-all").checked;
  const was = view.chosen;
  setFollowing(false);
  view.forget();
  await source.find(filter, only);
  if (source.matches === null && was !== null) view.toLine(was);
  else if (source.matches !== null && !only) seek(-1, source.total + 1);
  else view.toEnd();
}

/** Goes to the next or previous match from the selected line. */
function seek(step, from = view.chosen ?? (step > 0 ? 0 : source.total + 1)) {
  if (!source.matches?.length) return;
  const next = source.matchFrom(from, step) ?? source.matches.at(step > 0 ? 0 : -1);
  view.toLine(next);
}

tools.addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
$("log-level").addEventListener("change", find);
$("log-all").addEventListener("change", () => {
  const was = view.chosen;
  readFilter();
  view.forget();
  source.setOnly(!$("log-all").checked);
  if (was !== null) view.toLine(was);
});
$("log-clear").addEventListener("click", (event) => {
  event.preventDefault();
  $("log-text").value = $("log-level").value = "";
  find();
});
$("log-next").addEventListener("click", () => seek(1));
$("log-previous").addEventListener("click", () => seek(-1));
$("log-wrap").addEventListener("click", wrap);
follow?.addEventListener("click", () => setFollowing(!isFollowing));

function wrap() {
  const isWrapped = !view.isWrapped;
  $("log-wrap").setAttribute("aria-pressed", String(isWrapped));
  view.wrap(isWrapped);
}

/* Keys */

const KEYS = {
  ArrowDown: () => view.step(1),
  ArrowUp: () => view.step(-1),
  PageDown: () => view.step(Math.floor(view.room) - 1),
  PageUp: () => view.step(1 - Math.floor(view.room)),
  Home: () => source.count && view.choose(source.numberAt(0)),
  End: () => source.count && view.choose(source.numberAt(source.count - 1)),
  Enter: () => (isOpen ? closeDetails() : view.chosen !== null && picked()),
  Escape: closeDetails,
};
const ANYWHERE = { n: () => seek(1), N: () => seek(-1), f: () => setFollowing(!isFollowing), w: wrap };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isTyping = event.target.matches?.("input, select, textarea");
  const act = (event.target === view.box ? KEYS[event.key] : undefined) ?? (isTyping ? undefined : ANYWHERE[event.key]);
  if (!act) return;
  event.preventDefault();
  act();
});

/* Start */

if ($("log-text").value || $("log-level").value) find();
else if (place.dataset.line) view.toLine(Math.min(source.total, Number(place.dataset.line)));
else if (follow) setFollowing(true);
else view.toEnd();
watch();
document.addEventListener("visibilitychange", () => document.hidden || source.refresh());
