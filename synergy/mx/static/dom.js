// Elements and numbers, for all scripts.

import { visible } from "./visible_text.js";

const SHOWN = ["title", "aria-label"]; // attributes that people read

/** An element with its classes, attributes and children, which are elements or texts. */
export function element(name, className = "", attributes = {}, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, SHOWN.includes(key) ? visible(value) : value);
  made.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

/** A table that scrolls in its box; a cell is a text, an element, or a whole td. */
export function table(columns, rows, attributes = {}) {
  const made = element("table", "table");
  if (columns.length) {
    made.createTHead().insertRow().append(...columns.map((name) => element("th", "", { scope: "col" }, name)));
  }
  const body = made.createTBody();
  for (const cells of rows) {
    body.insertRow().append(...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : element("td", "", {}, cell))));
  }
  return element("div", "table-wrap", attributes, made);
}

/** A number with separated thousands. */
export const number = (count) => Number(count ?? 0).toLocaleString("en");
