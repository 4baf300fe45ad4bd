// The form of a schedule: fields or JSON, with a preview of its next due times.

import { ask, explain, Problem, toast } from "./app.js";
import { element, table } from "./dom.js";
import { visible } from "./visible_text.js";
import { addLeg, readFields, example, fillFields, Unreadable } from "./schedule_fields.js";

const PAUSE_MS = 300; // the pause in typing after which the preview is requested
const API = "/api/v1/schedules";

const $ = (id) => document.getElementById(id);
const form = $("schedule-form");
const name = form.dataset.name;
let base = JSON.parse(form.dataset.definition);
let isText = false;
let requested = 0; // previews so far; responses to all but the last are obsolete
let timer = 0;
const touched = new Set();

/* Fields or text */

function written() {
  if (!isText) return readFields(base, name);
  try {
    const given = JSON.parse($("text").value);
    if (given !== null && typeof given === "object" && !Array.isArray(given)) return given;
  } catch (error) {
    throw new Unreadable("text", `not valid JSON: ${error.message}`);
  }
  throw new Unreadable("text", "expected an object with the fields of a schedule");
}

function switchTo(asText) {
  if (asText === isText) return;
  try {
    const now = written();
    if (asText) $("text").value = JSON.stringify(now, null, 2);
    else {
      base = now;
      fillFields(now);
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return show([{ where: error.field, detail: error.message }], true);
  }
  isText = asText;
  $("by-text").hidden = !asText;
  $("by-fields").hidden = asText;
  for (const [tab, isOn] of [[$("tab-fields"), !asText], [$("tab-text"), asText]]) {
    tab.setAttribute("aria-selected", String(isOn));
    tab.tabIndex = isOn ? 0 : -1;
  }
  showFields();
  preview();
}

/** Shows the fields that belong to the selected options. */
function showFields() {
  for (const part of form.querySelectorAll("[data-when]")) {
    part.hidden = !part.dataset.is.split(" ").includes($(part.dataset.when).value);
  }
  $("target").placeholder = example($("program").value);
  if ($("kind").value === "events" && !$("legs").children.length) addLeg();
}

/* Mistakes beside their fields */

function places(field) {
  if (isText) return [...form.querySelectorAll('[data-field="text"]')];
  return [...form.querySelectorAll("[data-field]")].filter((one) => one.dataset.field.split(" ").includes(field));
}

/** Shows mistakes beside their fields; for untouched fields only if `all`. Returns the others. */
function show(mistakes, all) {
  for (const error of form.querySelectorAll("[data-field] > .error")) {
    error.hidden = true;
    error.textContent = "";
  }
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  const others = [];
  for (const { where, detail } of mistakes) {
    const field = where.replace(/^body\./, "").split(".")[0];
    const place = places(field)[0] ?? $(field)?.closest("[data-field]");
    const error = place?.querySelector(":scope > .error");
    if (!error) others.push(detail);
    else if (all || isText || touched.has(place)) {
      error.textContent += `${error.textContent ? "; " : ""}${visible(detail)}`;
      error.hidden = false;
      markInvalid(place);
    }
  }
  return others;
}

/** Marks the field of a mistake: for a trigger, the field of the selected kind. */
function markInvalid(place) {
  const part = place.querySelector("[data-when]:not([hidden])") ?? place;
  if (!place.matches('[data-field~="constraints"]')) {
    part.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
  }
}

const mistakesOf = (problem) => (problem.errors?.length ? problem.errors : [{ where: "", detail: problem.detail }]);

/* The preview */

function previewSoon() {
  clearTimeout(timer);
  document.querySelector(".preview").classList.add("is-old");
  timer = setTimeout(preview, PAUSE_MS);
}

/** A schedule can be previewed before it has a name, or anything to run. */
function previewable(definition) {
  const { enabled: _, ...rest } = definition;
  if (!isText && !rest.name) rest.name = "new";
  const hasNone = !rest.process && !rest.target;
  if (!isText && hasNone) {
    delete rest.process;
    rest.target = "sqs:nowhere-yet";
  }
  return { definition: rest, hasNone: !isText && hasNone };
}

const isTriggered = (definition) => ["trigger", "cron"].some((field) => field in definition);

async function preview() {
  clearTimeout(timer);
  const number = ++requested;
  let found = null;
  let mistakes = [];
  let hasNone = false;
  try {
    const sent = previewable(written());
    if (!isText && !isTriggered(sent.definition)) throw new Problem(0, "trigger is missing");
    hasNone = sent.hasNone;
    found = (await ask("POST", `${API}/preview?limit=10`, sent.definition, { key: null })).data;
  } catch (problem) {
    mistakes = problem instanceof Unreadable ? [{ where: problem.field, detail: problem.message }] : mistakesOf(problem);
  }
  if (number !== requested) return;
  document.querySelector(".preview").classList.remove("is-old");
  show(mistakes, false);
  $("preview").replaceChildren(...(found === null ? mistakesShown(mistakes) : previewParts(found, hasNone)));
}

const paragraph = (words, className = "") => element("p", className, {}, words);

function mistakesShown(mistakes) {
  const isBare = mistakes.every(({ detail }) => / is missing/.test(detail));
  const words = isBare ? "They appear as soon as it has a trigger." : mistakes.map(({ detail }) => detail).join("\n");
  return [paragraph(words, isBare ? "muted" : "pre")];
}

function previewParts(seen, hasNone) {
  const words = hasNone ? seen.words.slice(0, seen.words.lastIndexOf(": ")) : seen.words;
  const parts = [paragraph(words)];
  if (seen.dues.length) parts.push(tableOf(seen));
  else parts.push(paragraph(seen.why_none, "muted"));
  if (seen.words.startsWith("all of (") && seen.dues.length) {
    parts.push(paragraph("At these times a part of its trigger is met; it runs when all parts are.", "muted small"));
  }
  for (const dialect of seen.dialects) parts.push(paragraph(dialect, "muted small"));
  for (const warning of seen.warnings) parts.push(paragraph(warning, "note note-warn"));
  if (seen.body) {
    parts.push(element("h3", "", {}, "What would be sent"), element("pre", "log wrap", {}, seen.body));
  }
  return parts;
}

function tableOf({ dues, zone }) {
  const hasZone = zone !== "UTC";
  const hasRemarks = dues.some((due) => due.remark);
  const heads = ["UTC", ...(hasZone ? [zone] : []), ...(hasRemarks ? ["Remark"] : [])];
  const local = (at) => (at ? `${weekday(at)} ${clock(at)} ${at.slice(-6).replace(":", "")}` : "–");
  const rows = dues.map((due) => [
    clock(due.at),
    ...(hasZone ? [local(due.local)] : []),
    ...(hasRemarks ? [element("td", "wrap", {}, due.remark)] : []),
  ]);
  return table(heads, rows);
}

const weekday = (instant) =>
  new Date(`${instant.slice(0, 10)}T00:00:00Z`).toLocaleDateString("en", { weekday: "short", timeZone: "UTC" });
const clock = (instant) => instant.slice(0, 19).replace("T", " ");

/* Saving */

async function save() {
  const problem = $("form-problem");
  problem.hidden = true;
  $("save").disabled = true;
  try {
    const definition = written();
    const reason = $("reason").value.trim();
    const body = { ...definition, ...(reason && { reason }) };
    if (!name && !isText) body.enabled = $("enabled").checked;
    const response = await (name ? ask("PUT", `${API}/${name}`, body) : ask("POST", API, body));
    const called = response.data.touched[0].name;
    location.assign(`/schedules/${called === "new" ? "~" : ""}${called}`);
  } catch (error) {
    const isKnown = error instanceof Unreadable || error.detail !== undefined;
    if (!isKnown) toast("The form has failed: use the command line.", "danger");
    refuse(error instanceof Unreadable ? [{ where: error.field, detail: error.message }] : mistakesOf(error));
  } finally {
    $("save").disabled = false;
  }
}

function refuse(mistakes) {
  const others = show(mistakes, true);
  const problem = $("form-problem");
  problem.hidden = false;
  const words = others.length ? others.join("\n") : "Nothing was stored: see the marked fields above.";
  problem.replaceChildren(explain({ detail: words }));
  const first = form.querySelector("[aria-invalid]");
  if (first) first.focus();
  else problem.scrollIntoView({ block: "nearest" });
}

/* Event handlers */

form.addEventListener("input", (event) => {
  for (let at = event.target.closest("[data-field]"); at; at = at.parentElement.closest("[data-field]")) touched.add(at);
  showFields();
  previewSoon();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
$("tab-fields").addEventListener("click", () => switchTo(false));
$("tab-text").addEventListener("click", () => switchTo(true));
document.querySelector("#schedule-form [role=tablist]").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  switchTo(!isText);
  $(isText ? "tab-text" : "tab-fields").focus();
});
$("add-leg").addEventListener("click", () => {
  addLeg();
  previewSoon();
});
$("legs").addEventListener("click", (event) => {
  if (!event.target.closest(".leg-remove")) return;
  event.target.closest(".leg").remove();
  previewSoon();
});

fillFields(base);
showFields();
preview();
