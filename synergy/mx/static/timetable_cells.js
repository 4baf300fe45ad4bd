// The cells of the calendar, and the text of a job.

import { element } from "./dom.js";

export const GAP = 2; // pixels between cells

// A job in one line.
export function describe(level, ordinal) {
  const words = [level.word(ordinal).replace("_", " "), ...level.marks(ordinal)];
  return `${level.name} ${level.timeperiod(ordinal)}: ${words.join(", ")}`;
}

export const newCell = () => element("div", "c none", { role: "gridcell" });

// Draws a job in a cell, or nothing. There are a thousand cells, so only differences are written:
// `drawn` are the classes of the state, `names` all classes.
export function paintCell(cell, level, ordinal, grid) {
  if (!level || !level.has(ordinal)) return empty(cell);
  let drawn = `c s-${level.word(ordinal)}`;
  for (const mark of level.marks(ordinal)) drawn += ` ${mark}`;
  const { period } = cell;
  if (!period || period.level !== level || period.ordinal !== ordinal || cell.drawn !== drawn) {
    cell.period = { level, ordinal };
    cell.drawn = drawn;
    cell.setAttribute("aria-label", describe(level, ordinal));
  }
  const focused = grid.isFocus(level, ordinal);
  const names = drawn + grid.marks(level, ordinal) + (focused ? " focus" : "");
  if (cell.names !== names) cell.className = cell.names = names;
  const index = focused ? 0 : -1;
  if (cell.tabIndex !== index || !cell.hasAttribute("tabindex")) cell.tabIndex = index;
}

function empty(cell) {
  if (cell.names === "c none") return;
  cell.period = null;
  cell.className = cell.names = "c none";
  cell.removeAttribute("aria-label");
  cell.removeAttribute("tabindex");
}

// Appends a name that may break between its words.
export function named(head, name) {
  const text = element("span", "cal-name", { title: name });
  name.split(/(?=[A-Z][a-z])|(?<=_)/).forEach((part, n) => text.append(...(n ? [element("wbr", "")] : []), part));
  head.append(text);
}
