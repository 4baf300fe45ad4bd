// Converts between the fields of the form and the definition of a schedule. What has no field is kept
// unchanged.

export class Unreadable extends Error {
  /** `field` is the one whose text cannot be parsed. */
  constructor(field, detail) {
    super(detail);
    this.field = field;
  }
}

const FIELDS = [
  "name", "process", "arguments", "target", "payload", "content_type", "headers", "budget",
  "trigger", "cron", "when", "dependencies", "zone", "from", "catchup", "first_run",
  "constraints", "timeout", "priority",
];
const PLAIN = ["content_type", "budget", "zone", "from", "timeout"]; // texts; empty is left out
const EXAMPLES = {
  http: "https://example.com/hook",
  amqp: "amqp://host/vhost?exchange=NAME&routing_key=KEY",
  sqs: "sqs:queue-name",
  sns: "sns:arn:aws:sns:eu-central-1:123456789012:topic",
};

const CALENDAR = ["day", "time", "start", "end", "jitter"]; // fields beside the number and its unit

const $ = (id) => document.getElementById(id);
const text = (id) => $(id).value.trim();

/** A placeholder for the target of this kind of program. */
export const example = (program) => EXAMPLES[program] ?? "";

/** The definition in the fields, with those parts of `base` that have no field; throws Unreadable. */
export function readFields(base, name) {
  const others = Object.fromEntries(Object.entries(base).filter(([field]) => !FIELDS.includes(field)));
  const called = name || text("name");
  return {
    ...(called ? { name: called } : {}),
    ...program(base),
    ...trigger(),
    ...Object.fromEntries(PLAIN.filter((field) => applies(field) && text(field)).map((field) => [field, text(field)])),
    ...($("catchup").value === "all" ? {} : { catchup: $("catchup").value }),
    ...($("first_run").value === "on_schedule" ? {} : { first_run: $("first_run").value }),
    ...constraints(),
    ...(text("priority") ? { priority: Number(text("priority")) } : {}),
    ...others,
  };
}

const applies = (field) => !["content_type", "budget"].includes(field) || $("program").value !== "process";

function program(base) {
  if ($("program").value === "process") {
    const given = json("arguments", null);
    return { process: $("process").value, ...(given === null ? {} : { arguments: given }) };
  }
  const headers = headersOf(text("headers"));
  const isKept = $("payload").disabled; // it is stored separately
  const payload = isKept ? base.payload : $("payload").value;
  return {
    target: text("target"),
    ...(payload ? { payload } : {}),
    ...(Object.keys(headers).length ? { headers } : {}),
  };
}

function headersOf(lines) {
  const headers = {};
  for (const line of lines.split("\n").filter((one) => one.trim())) {
    const at = line.indexOf(":");
    if (at < 1) throw new Unreadable("headers", `expected Name: value, not ${line}`);
    headers[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return headers;
}

function trigger() {
  switch ($("kind").value) {
    case "cron": {
      const lines = text("cron").split("\n").map((line) => line.trim()).filter(Boolean);
      return lines.length ? { cron: lines.length === 1 ? lines[0] : lines } : {};
    }
    case "at": return text("at") ? { trigger: `at ${text("at")}` } : {};
    case "every": return text("every") ? { trigger: `every ${text("every")}` } : {};
    case "calendar": return { trigger: { calendar_interval: calendarInterval() } };
    case "once": return text("once") ? { trigger: { once: text("once") } } : {};
    case "events": return events();
    case "timetable": return { trigger: { timetable: periods() } };
    default: {
      const given = json("other", null);
      return given === null ? {} : { trigger: given };
    }
  }
}

function calendarInterval() {
  const given = CALENDAR.map((field) => [field, text(`calendar-${field}`)]).filter(([, value]) => value);
  const count = text("calendar-count");
  return { ...(count && { [$("calendar-unit").value]: Number(count) }), ...Object.fromEntries(given) };
}

function periods() {
  const statuses = boxes().filter((box) => box.checked).map((box) => box.value);
  const isUsual = statuses.join() === "processed";
  const generations = $("generations").value;
  return {
    process: $("managed").value,
    ...(isUsual ? {} : { statuses }),
    ...(generations === "all" ? {} : { generations }),
  };
}

const boxes = () => [...$("statuses").querySelectorAll("input")];

function events() {
  const legs = [...document.querySelectorAll(".leg")].map((leg) => ({
    type: leg.querySelector(".leg-type").value,
    resource: leg.querySelector(".leg-resource").value.trim(),
    life: leg.querySelector(".leg-life").value.trim() || "0",
  }));
  if (!legs.length) return {};
  const made = legs.map((event) => ({ event }));
  return { trigger: made.length === 1 ? made[0] : { all_of: made } };
}

function constraints() {
  const made = [];
  if (text("concurrency")) {
    made.push({ concurrency: { n: Number(text("concurrency")), when_unmet: $("concurrency-unmet").value } });
  }
  const [start, end] = [text("window-start"), text("window-end")];
  if (start || end) made.push({ time_window: { ...(start && { start }), ...(end && { end }) } });
  const [n, per] = [text("rate-n"), text("rate-per")];
  if (n || per) made.push({ at_most: { ...(n && { n: Number(n) }), ...(per && { per }) } });
  const others = json("constraints", []);
  if (!Array.isArray(others)) throw new Unreadable("constraints", "expected a JSON list");
  made.push(...others);
  return made.length ? { constraints: made } : {};
}

function json(id, none) {
  if (!text(id)) return none;
  try {
    return JSON.parse(text(id));
  } catch (error) {
    throw new Unreadable(id, `not valid JSON: ${error.message}`);
  }
}

/** Puts a definition into the fields. */
export function fillFields(definition) {
  const shown = (id, value) => ($(id).value = value ?? "");
  if ($("name")) shown("name", definition.name);
  const target = String(definition.target ?? "");
  const kind = definition.process !== undefined ? "process" : Object.keys(EXAMPLES).find((one) => target.startsWith(one));
  if (kind) $("program").value = kind;
  if (definition.process) choose($("process"), definition.process);
  shown("arguments", definition.arguments && JSON.stringify(definition.arguments, null, 2));
  shown("target", definition.target);
  fillPayload(definition.payload);
  shown("headers", Object.entries(definition.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n"));
  for (const field of [...PLAIN, "priority"]) shown(field, definition[field]);
  $("catchup").value = definition.catchup ?? "all";
  $("first_run").value = definition.first_run ?? "on_schedule";
  fillTrigger(definition);
  fillConstraints(definition.constraints ?? []);
}

function fillPayload(payload) {
  const field = $("payload");
  const isKept = payload !== null && typeof payload === "object" && Object.keys(payload).join() === "stored";
  field.disabled = isKept;
  field.placeholder = isKept ? "Stored payload, kept as it is; see the JSON for its name." : "";
  field.value = isKept ? "" : typeof payload === "string" ? payload : payload === undefined ? "" : JSON.stringify(payload);
}

/** Selects an option, which is added if it is missing. */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option(value, value));
  select.value = value;
}

function fillTrigger({ trigger: given, cron, when, dependencies }) {
  const trigger = Array.isArray(dependencies) ? { all_of: dependencies.map(dependency) } : given;
  const events = eventsIn(trigger);
  const lines = cronLines(trigger, cron);
  const once = when ?? trigger?.once;
  const timetable = trigger?.timetable?.process ?? trigger?.timetable;
  let kind = "other";
  $("legs").replaceChildren();
  if (lines) {
    kind = "cron";
    $("cron").value = lines.join("\n");
  } else if (typeof trigger === "string" && /^(at|every) /.test(trigger)) {
    kind = trigger.split(" ", 1)[0];
    $(kind).value = trigger.slice(kind.length + 1);
  } else if (fillCalendar(trigger?.calendar_interval)) {
    kind = "calendar";
  } else if (typeof once === "string") {
    kind = "once";
    $("once").value = once;
  } else if (typeof timetable === "string" && fillPeriods(Object(trigger.timetable))) {
    kind = "timetable";
    choose($("managed"), timetable);
  } else if (events) {
    kind = "events";
    events.forEach(addLeg);
  } else if (trigger === undefined) kind = "cron";
  else $("other").value = JSON.stringify(trigger, null, 2);
  $("kind").value = kind;
}

/** False if it is no calendar interval, or one that the fields cannot express. */
function fillCalendar(interval) {
  const units = [...$("calendar-unit").options].map((option) => option.value);
  const [unit, ...others] = Object.keys(interval ?? {}).filter((field) => !CALENDAR.includes(field));
  if (!units.includes(unit) || others.length) return false;
  $("calendar-unit").value = unit;
  $("calendar-count").value = interval[unit];
  for (const field of CALENDAR) $(`calendar-${field}`).value = interval[field] ?? "";
  return true;
}

/** False if the fields cannot express it. */
function fillPeriods({ statuses = ["processed"], generations = "all" }) {
  const meant = [statuses].flat();
  const known = boxes().map((box) => box.value);
  if (!meant.every((one) => known.includes(one)) || !["all", "first"].includes(generations)) return false;
  for (const box of boxes()) box.checked = meant.includes(box.value);
  $("generations").value = generations;
  return true;
}

function cronLines(trigger, cron) {
  const given = cron ?? trigger?.cron;
  if (given !== undefined) return Array.isArray(given) ? given : [given];
  const lines = typeof trigger === "string" ? [trigger] : trigger?.any_of;
  const isCron = (line) => typeof line === "string" && line.startsWith("cron ");
  return Array.isArray(lines) && lines.every(isCron) ? lines.map((line) => line.slice(5)) : null;
}

const dependency = ({ type, resourceId, lifeDuration }) => ({ event: { type, resource: resourceId, life: lifeDuration } });

/** The events of a trigger that the fields can express. A single dependency is no lone event. */
function eventsIn(trigger) {
  if (trigger?.event) return [trigger.event];
  const legs = trigger?.all_of;
  const isFine = Array.isArray(legs) && legs.length > 1 && legs.every((leg) => leg?.event);
  return isFine ? legs.map((leg) => leg.event) : null;
}

export function addLeg({ type = "FILE", resource = "", life = "" } = {}) {
  const leg = $("leg").content.firstElementChild.cloneNode(true);
  leg.querySelector(".leg-type").value = type.replaceAll("_", " ").replace(" CRON", "");
  leg.querySelector(".leg-resource").value = resource;
  leg.querySelector(".leg-life").value = life;
  $("legs").append(leg);
}

function fillConstraints(all) {
  const others = [];
  for (const id of ["concurrency", "window-start", "window-end", "rate-n", "rate-per"]) $(id).value = "";
  for (const one of all) if (!fillConstraint(one)) others.push(one);
  $("constraints").value = others.length ? JSON.stringify(others, null, 2) : "";
  $("more-constraints").open = others.length > 0;
}

/** False if the fields cannot express it, or hold another one of its kind. */
function fillConstraint(constraint) {
  const [[kind, given] = []] = Object.entries(constraint ?? {});
  if (kind === "concurrency" && !text("concurrency")) {
    const { n = given, scope = "program", when_unmet = "abort" } = Object(given);
    if (scope !== "program" || !Number.isInteger(n)) return false;
    $("concurrency").value = n;
    $("concurrency-unmet").value = when_unmet;
    return true;
  }
  const { when_unmet = "wait", ...rest } = Object(given);
  if (when_unmet !== "wait") return false;
  if (kind === "time_window" && !text("window-start") && !text("window-end")) {
    if (rest.zone !== undefined && rest.zone !== (text("zone") || "UTC")) return false;
    $("window-start").value = rest.start ?? "";
    $("window-end").value = rest.end ?? "";
    return true;
  }
  if (kind !== "at_most" || text("rate-n")) return false;
  $("rate-n").value = rest.n ?? "";
  $("rate-per").value = rest.per ?? "";
  return true;
}
