// The result or the preview of an action, in words and as a table.

import { element, number, table } from "./dom.js";

const MOST = 100; // rows that are shown
const STATES = new Set([
  "embryo", "in_progress", "final_run", "processed", "noop", "skipped", "given_up", "requested", "invalid", "canceled",
  "pending_trigger", "pending_constraint", "pending_launch", "launched", "failed", "aborted",
]);

/** The result in one line: "3 touched.", and remarks. */
export function summary(data) {
  const items = itemsOf(data);
  if (items === null) return "done.";
  const total = totalOf(data, items);
  const first = total === 0 ? "nothing to do." : `${number(total)} touched.`;
  return [first, ...remarksOf(items)].join(" ");
}

/** A table of what would change. */
export function preview(data) {
  const items = itemsOf(data);
  if (items === null) return element("div", "", {}, element("p", "", {}, "MX would do it."));
  const total = totalOf(data, items);
  const listed = Math.min(items.length, MOST);
  const first = total > listed ? `; the first ${listed} are listed` : "";
  const words = total === 0 ? "Nothing would be touched." : `Would touch ${number(total)}${first}:`;
  const box = element("div", "", {}, element("p", "", {}, words));
  const processes = Object.entries(data?.processes ?? {});
  if (processes.length > 1) box.append(counted(processes));
  if (items.length) box.append(tableOf(items.slice(0, MOST)));
  return box;
}

/** The counts by process. */
function counted(processes) {
  const line = ([process, count]) => element("li", "", {}, element("b", "", {}, number(count)), ` ${process}`);
  return element("ul", "cascade", {}, ...processes.map(line));
}

function itemsOf(data) {
  if (Array.isArray(data?.touched)) return data.touched;
  if (Array.isArray(data)) return data;
  return null;
}

const totalOf = (data, items) => (Number.isInteger(data?.count) ? data.count : items.length);

const remarksOf = (items) => [...new Set(items.map((item) => item?.remark).filter(Boolean))];

function tableOf(items) {
  const columns = columnsOf(items);
  const cell = (value) => (STATES.has(value) ? state(value) : worded(value));
  const rows = items.map((item) => (isRecord(item) ? columns.map((name) => item[name]) : [item]).map(cell));
  const heads = columns.map((name) => name.replaceAll("_", " "));
  return table(heads, rows, { tabindex: 0, role: "region", "aria-label": "What would be touched" });
}

/** The fields that have a value in any item. */
function columnsOf(items) {
  const records = items.filter(isRecord);
  const names = new Set(records.flatMap((item) => Object.keys(item)));
  return [...names].filter((name) => records.some((item) => item[name] !== "" && item[name] !== null));
}

function state(word) {
  return element("span", `state state-${word}`, {}, element("span", "glyph", { "aria-hidden": "true" }), word.replaceAll("_", " "));
}

const isRecord = (item) => item !== null && typeof item === "object" && !Array.isArray(item);

function worded(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
