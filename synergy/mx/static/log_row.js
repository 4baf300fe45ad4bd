// One line of a log, as a row, and all that is known of it.

const LONGEST = 4000; // characters of a line in a row; its details show all of it

/** A row; `line` may be its number alone, while the rest is on its way. */
export function rowOf(line, { q = "" }) {
  const row = document.createElement("div");
  row.className = `lv-row line-${line.level || "none"}`;
  row.id = `row-${line.number}`;
  row.dataset.number = line.number;
  row.setAttribute("role", "option");
  if (line.message === undefined) {
    row.classList.add("is-coming");
    row.append(part("lv-number", line.number), part("text", "…"));
    return row;
  }
  row.append(part("lv-number", line.number));
  if (line.at) row.append(part("lv-at", `${line.at.slice(5, 10)} ${line.at.slice(11, 23)}`, line.at));
  if (line.level) row.append(part("level", line.level));
  if (line.event) row.append(part("event", line.event));
  const text = part("text", "");
  mark(text, shortened(line.message), q);
  row.append(text);
  return row;
}

/** All fields of a line, for the panel. */
export function detailsOf(line, permalink) {
  const box = document.createDocumentFragment();
  const list = document.createElement("dl");
  list.className = "facts";
  add(list, "line", line.number.toLocaleString("en"));
  for (const name of ["at", "level", "event"]) if (line[name]) add(list, name, line[name]);
  for (const [name, value] of Object.entries(line.more)) {
    const isText = typeof value === "string";
    add(list, name, isText ? value : JSON.stringify(value), isText && value.includes("\n"));
  }
  const text = document.createElement("pre");
  text.className = "log wrap";
  text.tabIndex = 0;
  text.textContent = line.message;
  const link = document.createElement("a");
  link.href = permalink;
  link.textContent = "Link to this line";
  box.append(text, list, link);
  return box;
}

function add(list, name, value, isLong = false) {
  const term = document.createElement("dt");
  term.textContent = name.replaceAll("_", " ");
  const told = document.createElement("dd");
  const inner = isLong ? document.createElement("pre") : told;
  inner.textContent = value;
  inner.classList.add("mono");
  if (isLong) told.append(inner);
  list.append(term, told);
}

function part(className, text, title = "") {
  const made = document.createElement("span");
  made.className = className;
  made.textContent = text;
  if (title) made.title = title;
  return made;
}

function shortened(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${(text.length - LONGEST).toLocaleString("en")} more)`;
}

/** The text with what is looked for marked, as far as its letters are as long in both cases. */
function mark(place, text, wanted) {
  const small = text.toLowerCase();
  const sought = wanted.toLowerCase();
  if (!sought || small.length !== text.length) {
    place.textContent = text;
    return;
  }
  let from = 0;
  for (let at = small.indexOf(sought); at >= 0; at = small.indexOf(sought, from)) {
    const found = document.createElement("mark");
    found.textContent = text.slice(at, at + sought.length);
    place.append(text.slice(from, at), found);
    from = at + sought.length;
  }
  place.append(text.slice(from));
}
