// One line of a log, as a row and in detail.

import { element, number } from "./dom.js";

const LONGEST = 4000; // characters of a line in a row; its details show all

/** A row; `line` may be its number alone, until the rest is loaded. */
export function rowOf(line, { q = "" }) {
  const row = element("div", `lv-row line-${line.level || "none"}`, {
    id: `row-${line.number}`, "data-number": line.number, role: "option",
  }, element("span", "lv-number", {}, line.number));
  if (line.message === undefined) {
    row.classList.add("is-coming");
    row.append(element("span", "text", {}, "…"));
    return row;
  }
  if (line.at) row.append(element("span", "lv-at", { title: line.at }, `${line.at.slice(5, 10)} ${line.at.slice(11, 23)}`));
  for (const name of ["level", "event"]) if (line[name]) row.append(element("span", name, {}, line[name]));
  row.append(element("span", "text", {}, ...marked(shortened(line.message), q)));
  return row;
}

/** All fields of a line, for the panel. */
export function detailsOf(line, permalink) {
  const list = element("dl", "facts");
  add(list, "line", number(line.number));
  for (const name of ["at", "level", "event"]) if (line[name]) add(list, name, line[name]);
  for (const [name, value] of Object.entries(line.more)) {
    const isText = typeof value === "string";
    add(list, name, isText ? value : JSON.stringify(value), isText && value.includes("\n"));
  }
  const box = document.createDocumentFragment();
  box.append(element("pre", "log wrap", { tabindex: 0 }, line.message), list, element("a", "", { href: permalink }, "Link to this line"));
  return box;
}

function add(list, name, value, isLong = false) {
  const content = isLong ? element("dd", "", {}, element("pre", "mono", {}, value)) : element("dd", "mono", {}, value);
  list.append(element("dt", "", {}, name.replaceAll("_", " ")), content);
}

function shortened(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${number(text.length - LONGEST)} more)`;
}

/** The text with the matches marked, unless its letters change in length between upper and lower case. */
function marked(text, wanted) {
  const small = text.toLowerCase();
  const sought = wanted.toLowerCase();
  if (!sought || small.length !== text.length) return [text];
  const parts = [];
  let from = 0;
  for (let at = small.indexOf(sought); at >= 0; at = small.indexOf(sought, from)) {
    parts.push(text.slice(from, at), element("mark", "", {}, text.slice(at, at + sought.length)));
    from = at + sought.length;
  }
  return [...parts, text.slice(from)];
}
