// What the calendar is made of, and how a job is said in words.

export const GAP = 2; // pixels between cells

// What is said of a job in one line.
export function describe(level, ordinal) {
  const said = [level.word(ordinal).replace("_", " "), ...level.marks(ordinal)];
  return `${level.name} ${level.timeperiod(ordinal)}: ${said.join(", ")}`;
}

export function element(name, className, attributes = {}, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export const newCell = () => element("div", "c none", { role: "gridcell" });

// Makes a cell show a job, or nothing. There are a thousand of them, so only what differs from
// what it shows is written: `told` is what its label says beside its period, `names` its classes.
export function paintCell(cell, level, ordinal, grid) {
  if (!level || !level.has(ordinal)) return empty(cell);
  let told = `c s-${level.word(ordinal)}`;
  for (const mark of level.marks(ordinal)) told += ` ${mark}`;
  const { period } = cell;
  if (!period || period.level !== level || period.ordinal !== ordinal || cell.told !== told) {
    cell.period = { level, ordinal };
    cell.told = told;
    cell.setAttribute("aria-label", describe(level, ordinal));
  }
  const focused = grid.isFocus(level, ordinal);
  const names = told + grid.marks(level, ordinal) + (focused ? " focus" : "");
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

// A name that may be broken where its words meet.
export function named(head, name) {
  const text = element("span", "cal-name", { title: name });
  name.split(/(?=[A-Z][a-z])|(?<=_)/).forEach((part, n) => text.append(...(n ? [element("wbr", "")] : []), part));
  head.append(text);
}
