// What an action touched, or would touch, for people.

const MOST = 100; // rows that are shown
const STATES = new Set([
  "embryo", "in_progress", "final_run", "processed", "noop", "skipped", "given_up", "requested", "invalid", "canceled",
  "pending_trigger", "pending_constraint", "pending_launch", "launched", "failed", "aborted",
]);

/** One line: "3 touched.", and what is to be known besides. */
export function told(data) {
  const items = itemsOf(data);
  if (items === null) return "done.";
  const total = totalOf(data, items);
  const first = total === 0 ? "nothing had to be done." : `${total.toLocaleString("en")} touched.`;
  return [first, ...remarksOf(items)].join(" ");
}

/** A table of what would be touched. */
export function preview(data) {
  const box = document.createElement("div");
  const items = itemsOf(data);
  const head = document.createElement("p");
  box.append(head);
  if (items === null) {
    head.textContent = "MX would do it.";
    return box;
  }
  const total = totalOf(data, items);
  const listed = Math.min(items.length, MOST);
  head.textContent = total === 0
    ? "Nothing would be touched."
    : `Would touch ${total.toLocaleString("en")}${total > listed ? `; the first ${listed} of them are listed` : ""}:`;
  const processes = Object.entries(data?.processes ?? {});
  if (processes.length > 1) box.append(counted(processes));
  if (items.length) box.append(table(items.slice(0, MOST)));
  return box;
}

/** How many of each process. */
function counted(processes) {
  const list = document.createElement("ul");
  list.className = "cascade";
  for (const [process, count] of processes) {
    const line = list.appendChild(document.createElement("li"));
    line.appendChild(document.createElement("b")).textContent = count.toLocaleString("en");
    line.append(` ${process}`);
  }
  return list;
}

function itemsOf(data) {
  if (Array.isArray(data?.touched)) return data.touched;
  if (Array.isArray(data)) return data;
  return null;
}

const totalOf = (data, items) => (Number.isInteger(data?.count) ? data.count : items.length);

const remarksOf = (items) => [...new Set(items.map((item) => item?.remark).filter(Boolean))];

function table(items) {
  const wrap = document.createElement("div");
  wrap.className = "table-wrap";
  wrap.tabIndex = 0;
  wrap.setAttribute("role", "region");
  wrap.setAttribute("aria-label", "What would be touched");
  const made = document.createElement("table");
  made.className = "table";
  const columns = columnsOf(items);
  if (columns.length) {
    const row = made.createTHead().insertRow();
    for (const name of columns) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name.replaceAll("_", " ");
      row.append(cell);
    }
  }
  const body = made.createTBody();
  for (const item of items) {
    const row = body.insertRow();
    const values = isRecord(item) ? columns.map((name) => item[name]) : [item];
    for (const value of values) row.insertCell().append(STATES.has(value) ? state(value) : worded(value));
  }
  wrap.append(made);
  return wrap;
}

/** The fields that any of them says something in. */
function columnsOf(items) {
  const records = items.filter(isRecord);
  const names = new Set(records.flatMap((item) => Object.keys(item)));
  return [...names].filter((name) => records.some((item) => item[name] !== "" && item[name] !== null));
}

function state(word) {
  const shown = document.createElement("span");
  shown.className = `state state-${word}`;
  const glyph = document.createElement("span");
  glyph.className = "glyph";
  glyph.setAttribute("aria-hidden", "true");
  shown.append(glyph, word.replaceAll("_", " "));
  return shown;
}

const isRecord = (item) => item !== null && typeof item === "object" && !Array.isArray(item);

function worded(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
