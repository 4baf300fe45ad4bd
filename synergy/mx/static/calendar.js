// Periods as whole numbers, with the same arithmetic as synergy/timeperiod: an ordinal grows by
// one from each period to the next, so that a calendar of ten years needs no strings and no dates.
// All is UTC. `decade` is only a row of years here; no process has it.

export const QUALIFIERS = ["hourly", "daily", "monthly", "yearly", "decade"];

const HOUR = 3600000;
const DAY = 24 * HOUR;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const two = (number) => String(number).padStart(2, "0");
const monthOfDay = (day) => {
  const date = new Date(day * DAY);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
};
const dayOfMonth = (month) => Date.UTC(Math.floor(month / 12), month % 12, 1) / DAY;

// The qualifier one step coarser.
export const above = (qualifier) => QUALIFIERS[QUALIFIERS.indexOf(qualifier) + 1];

const UP = {
  hourly: (hour) => Math.floor(hour / 24),
  daily: monthOfDay,
  monthly: (month) => Math.floor(month / 12),
  yearly: (year) => Math.floor(year / 10),
};
const DOWN = {
  daily: (day) => day * 24,
  monthly: dayOfMonth,
  yearly: (year) => year * 12,
  decade: (decade) => decade * 10,
};

// The `coarser` (or same) period that holds this one.
export function up(qualifier, ordinal, coarser) {
  let at = ordinal;
  for (let step = qualifier; step !== coarser; step = above(step)) at = UP[step](at);
  return at;
}

// The first of the `finer` (or same) periods within this one.
export function down(qualifier, ordinal, finer) {
  let at = ordinal;
  for (let n = QUALIFIERS.indexOf(qualifier); QUALIFIERS[n] !== finer; n -= 1) at = DOWN[QUALIFIERS[n]](at);
  return at;
}

// The instant at which a period begins, in milliseconds.
export const start = (qualifier, ordinal) => down(qualifier, ordinal, "hourly") * HOUR;

// The period that holds an instant.
export const at = (qualifier, instant) => up("hourly", Math.floor(instant / HOUR), qualifier);

// YYYYMMDDHH, with zeros below the qualifier.
export function timeperiod(qualifier, ordinal) {
  const date = new Date(start(qualifier, ordinal));
  const rank = QUALIFIERS.indexOf(qualifier);
  return String(date.getUTCFullYear()).padStart(4, "0")
    + (rank < 3 ? two(date.getUTCMonth() + 1) : "00")
    + (rank < 2 ? two(date.getUTCDate()) : "00")
    + (rank < 1 ? two(date.getUTCHours()) : "00");
}

// The ordinal of this qualifier's period that holds the start of a timeperiod.
export function cast(qualifier, text) {
  const [year, month, day, hour] = [[0, 4], [4, 6], [6, 8], [8, 10]].map(([a, b]) => Number(text.slice(a, b)));
  return at(qualifier, Date.UTC(year, Math.max(month, 1) - 1, day || 1, hour));
}

// The timeperiod of user input (2026, 2026-11, 2026-11-21 03, 2026112103), or null.
export function typed(text) {
  const digits = text.replace(/[-:T\s]/g, "").slice(0, 10);
  if (!/^\d{4}(\d\d){0,3}$/.test(digits)) return null;
  const full = digits.padEnd(10, "0");
  const instant = Date.UTC(full.slice(0, 4), Math.max(full.slice(4, 6), 1) - 1, full.slice(6, 8) || 1);
  return Number.isNaN(instant) || Number(full.slice(4, 6)) > 12 ? null : full;
}

// A period in words, complete.
export function words(qualifier, ordinal) {
  const date = new Date(start(qualifier, ordinal));
  const [year, month] = [date.getUTCFullYear(), MONTHS[date.getUTCMonth()]];
  if (qualifier === "yearly") return `${year}`;
  if (qualifier === "monthly") return `${month} ${year}`;
  const day = `${WEEKDAYS[date.getUTCDay()]} ${date.getUTCDate()} ${month} ${year}`;
  return qualifier === "daily" ? day : `${day}, ${two(date.getUTCHours())}:00`;
}

// The short label of a period that stands beside the coarser periods that hold it.
export function label(qualifier, ordinal) {
  const date = new Date(start(qualifier, ordinal));
  if (qualifier === "decade") return `${ordinal * 10}s`;
  if (qualifier === "yearly") return `${ordinal}`;
  if (qualifier === "monthly") return MONTHS[date.getUTCMonth()];
  return `${two(date.getUTCDate())} ${WEEKDAYS[date.getUTCDay()]}`;
}

// Grouping (see synergy/timeperiod/grouping.py): a job for every N periods of the same parent.

function place(qualifier, ordinal) {
  const parent = UP[qualifier](ordinal);
  const first = DOWN[above(qualifier)](parent);
  const end = DOWN[above(qualifier)](parent + 1);
  return [first, end, qualifier === "hourly" ? 0 : 1];
}

// The period whose job covers this one.
export function checkpoint(qualifier, ordinal, grouping) {
  if (grouping === 1) return ordinal;
  const [first, end, number] = place(qualifier, ordinal);
  const mine = Math.max(ordinal - first + number, 1);
  return Math.min(first - number + Math.ceil(mine / grouping) * grouping, end - 1);
}

// The first period that the job of this checkpoint covers; its last is the checkpoint itself.
export function covered(qualifier, ordinal, grouping) {
  if (grouping === 1) return ordinal;
  const [first, , number] = place(qualifier, ordinal);
  const previous = Math.floor((ordinal - first + number - 1) / grouping) * grouping;
  return previous ? first - number + previous + 1 : first;
}
