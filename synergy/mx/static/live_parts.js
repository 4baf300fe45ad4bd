// Parts of pages that htmx reloads: after events that concern them, after actions, and every few
// seconds where events do not cover them.
//
// htmx drops events while it throttles, so the last one would not be shown. This module remembers
// events and when each part was loaded, and reloads parts that are behind.

import { logIn } from "./ask.js";
import { listenIfNeeded, NOUNS } from "./live.js";
import { refreshTimes } from "./times.js";
import { toast } from "./toast.js";
import { twinOf } from "./replacement.js";

const CHECK_MS = 500; // between two checks for parts that are behind
const RETRY_MS = 3000; // until a failed part is reloaded
const LIVE = '[hx-trigger*="synergy:"]';
const POLLED = '[hx-trigger*="every "]';

const heard = new Map(); // noun: time of its last event
const asked = new WeakMap(); // part: time from which it is to be reloaded
const read = new WeakMap(); // part: when it was last requested, 0 if it came with the page
const begun = new WeakMap(); // request: when it was sent

const allParts = () => document.querySelectorAll(`${LIVE}, [hx-trigger*="refresh"]`);
const triggerOf = (part) => part.getAttribute("hx-trigger") ?? "";
const nounsOf = (part) => [...triggerOf(part).matchAll(/synergy:(\w+)/g)].map((found) => found[1]);
const pauseOf = (part) => Math.max(0, ...[...triggerOf(part).matchAll(/throttle:(\d+)s/g)].map((found) => 1000 * found[1]));

/** Reloads a part: at once, or as soon as htmx allows. */
export function reload(part) {
  asked.set(part, performance.now());
  htmx.trigger(part, "refresh");
}

function isBehind(part, now) {
  const since = read.get(part);
  const wanted = asked.get(part) ?? -1;
  if (wanted > since && wanted <= now) return true;
  return now - since >= pauseOf(part) && nounsOf(part).some((noun) => (heard.get(noun) ?? -1) > since);
}

function catchUp() {
  if (document.hidden) return;
  const now = performance.now();
  for (const part of allParts()) {
    if (isBehind(part, now) && !isInUse(part)) htmx.trigger(part, "refresh");
  }
}

for (const noun of NOUNS) {
  document.addEventListener(`synergy:${noun}`, () => heard.set(noun, performance.now()));
}
document.addEventListener("synergy:behind", () => document.querySelectorAll(LIVE).forEach(reload));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  refreshTimes();
  document.querySelectorAll(POLLED).forEach(reload);
});
for (const part of allParts()) read.set(part, 0);
setInterval(catchUp, CHECK_MS);

document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.target;
  // The page is hidden: polled parts are reloaded when it is shown.
  if (document.hidden && part.matches(POLLED)) return event.preventDefault();
  read.set(part, performance.now());
  begun.set(event.detail.xhr, performance.now());
});

/** Notes when new parts were requested. A part may replace the one that requested it. */
function noteNewParts({ xhr, requestConfig }) {
  for (const part of allParts()) {
    if (read.has(part)) continue;
    read.set(part, begun.get(xhr));
    if (part.id === requestConfig.elt.id) asked.set(part, asked.get(requestConfig.elt) ?? -1);
  }
}

/* Keeping selection, focus and scrolling */

const SCROLLING = ".table-wrap, pre";
const openDetails = new Map();
const scrolled = new Map(); // place of a scrolling element: its offset, and whether it has the focus
let focused = null;

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, elt, xhr, requestConfig } = event.detail;
  if (xhr.status >= 400) return;
  if (requestConfig.verb === "get" && isInUse(target)) {
    event.detail.shouldSwap = false;
    asked.set(elt, performance.now());
    return;
  }
  for (const one of target.querySelectorAll("details[id]")) openDetails.set(one.id, one.open);
  const at = document.activeElement;
  focused = target.contains(at) && !at.id ? at : null;
  for (const [place, one] of scrollingIn(target)) {
    if (one.scrollLeft || one.scrollTop || one === at) {
      scrolled.set(place, { left: one.scrollLeft, top: one.scrollTop, hadFocus: one === at });
    }
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  noteNewParts(event.detail);
  for (const [id, wasOpen] of openDetails) {
    const again = document.getElementById(id);
    if (again) again.open = wasOpen;
  }
  openDetails.clear();
  for (const [place, one] of scrolled.size ? scrollingIn(document) : []) scrollAgain(one, scrolled.get(place));
  scrolled.clear();
  if (focused && !focused.isConnected) twinOf(focused)?.focus({ preventScroll: true });
  focused = null;
  refreshTimes();
  listenIfNeeded();
});

/** The scrolling elements, by section and index in it. */
function scrollingIn(root) {
  const found = new Map();
  for (const one of root.querySelectorAll(SCROLLING)) {
    const part = one.closest("section, [id]");
    const name = part.id || part.getAttribute("aria-labelledby");
    let nth = 0;
    while (found.has(`${name} ${nth}`)) nth += 1;
    found.set(`${name} ${nth}`, one);
  }
  return found;
}

function scrollAgain(one, was) {
  if (!was) return;
  if (was.hadFocus) {
    one.tabIndex = 0;
    one.focus({ preventScroll: true });
  }
  one.scrollTo(was.left, was.top);
}

/** Whether the user selects text, presses a button or edits a field in the part. */
function isInUse(part) {
  const chosen = getSelection();
  if (chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode)) return true;
  if (part.querySelector(":active")) return true; // a swap between press and release would lose the click
  const at = document.activeElement;
  return part.contains(at) && at !== part && at.matches("input, textarea, select");
}

/* An outage is reported once, by its first error */

let isAway = false;

document.addEventListener("htmx:responseError", (event) => {
  const { elt, xhr } = event.detail;
  if (xhr.status >= 500) asked.set(elt, performance.now() + RETRY_MS);
  if (xhr.status === 401) logIn();
  else if (!isAway) toast(detailOf(xhr), "danger");
  isAway = true;
});
document.addEventListener("htmx:sendError", (event) => {
  asked.set(event.detail.elt, performance.now() + RETRY_MS);
  if (!isAway) toast("MX does not respond. This page may be out of date.", "danger");
  isAway = true;
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) isAway = false;
});

function detailOf(xhr) {
  try {
    return JSON.parse(xhr.responseText).detail;
  } catch {
    return `MX responded with ${xhr.status}.`;
  }
}
