// The calendar by keyboard: arrows by period and lane, pages by month, Shift extends a selection.

import * as cal from "./calendar.js";

// `actions`: open(level, ordinal), extend(from, level, ordinal), clear(), problem(step), announce().
export function keys(grid, actions) {
  let before = "";
  grid.view.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const step = STEPS[event.key];
    if (step) {
      event.preventDefault();
      go(grid, actions, step(grid, event), event.shiftKey);
    } else if (DOES[event.key] && !event.ctrlKey && before !== "g") { // "g p" goes to a page
      event.preventDefault();
      DOES[event.key](actions, grid.focus);
    }
    before = event.key;
  });
}

const DOES = {
  Enter: (actions, { level, ordinal }) => actions.open(level, ordinal),
  " ": (actions, { level, ordinal }) => actions.open(level, ordinal),
  Escape: (actions) => actions.clear(),
  n: (actions) => actions.problem(1),
  p: (actions) => actions.problem(-1),
};

const STEPS = {
  ArrowLeft: (grid, event) => sideways(grid, -1, event.shiftKey),
  ArrowRight: (grid, event) => sideways(grid, 1, event.shiftKey),
  ArrowUp: (grid) => along(grid, grid.newestFirst ? 1 : -1),
  ArrowDown: (grid) => along(grid, grid.newestFirst ? -1 : 1),
  PageUp: (grid) => page(grid, grid.newestFirst ? 1 : -1),
  PageDown: (grid) => page(grid, grid.newestFirst ? -1 : 1),
  Home: (grid, event) => edge(grid, event, false),
  End: (grid, event) => edge(grid, event, true),
};

function go(grid, actions, target, extends_) {
  if (!target) return;
  const from = grid.focus;
  const { level, ordinal, row = null } = target;
  grid.moveTo(level, ordinal, { row });
  if (extends_ && level === from.level) actions.extend(from.ordinal, level, grid.focus.ordinal);
  actions.announce();
}

// The neighbour in the same process, also in the next row; to the left of a row, the nearest lane.
function sideways(grid, step, extending) {
  const { level, ordinal } = grid.focus;
  const row = grid.anchorRow ?? grid.rowOf(level, ordinal);
  if (extending) return beside(level, ordinal, step);
  if (grid.isLane(level)) return toLane(grid, grid.lanes.find((lane) => lane.level === level).index + step, row, step);
  const first = Math.max(grid.rowStart(row), level.first);
  if (step < 0 && level.begin(ordinal) <= first) return toLane(grid, grid.lanes.length - 1, row, step);
  return beside(level, ordinal, step);
}

function beside(level, ordinal, step) {
  const next = step > 0 ? ordinal + 1 : level.begin(ordinal) - 1;
  return level.has(next) ? { level, ordinal: next } : null;
}

function toLane(grid, index, row, step) {
  for (let n = index; n >= 0 && n < grid.lanes.length; n += step) {
    const { level, qualifier } = grid.lanes[n];
    if (level) return { level, ordinal: cal.up(grid.rowQualifier, row, qualifier), row };
  }
  return step > 0 ? { level: grid.fine, ordinal: Math.max(grid.rowStart(row), grid.fine.first) } : null;
}

// The next row, or in a lane its next bar.
function along(grid, step) {
  const { level, ordinal } = grid.focus;
  return grid.isLane(level) ? beside(level, ordinal, step) : inRow(grid, grid.rowOf(level, ordinal) + step);
}

// The same column in another row.
function inRow(grid, row) {
  const { level, ordinal } = grid.focus;
  const to = Math.min(Math.max(row, grid.firstRow), grid.lastRow);
  const column = ordinal - grid.rowStart(grid.rowOf(level, ordinal));
  return { level, ordinal: Math.min(grid.rowStart(to) + column, grid.rowStart(to + 1) - 1) };
}

// The same day of the next month; if a row is a month, the same month of the next year.
function page(grid, step) {
  const { level, ordinal } = grid.focus;
  const row = grid.anchorRow ?? grid.rowOf(level, ordinal);
  if (grid.rowQualifier === "decade") return along(grid, step);
  const over = cal.above(grid.rowQualifier);
  const here = cal.up(grid.rowQualifier, row, over);
  const offset = row - cal.down(over, here, grid.rowQualifier);
  const last = cal.down(over, here + step + 1, grid.rowQualifier) - 1;
  const to = Math.min(cal.down(over, here + step, grid.rowQualifier) + offset, last);
  if (!grid.isLane(level)) return inRow(grid, to);
  return { level, ordinal: cal.up(grid.rowQualifier, Math.max(to, grid.firstRow), level.qualifier) };
}

// The end of the row; with Ctrl that of the timetable.
function edge(grid, event, isEnd) {
  const { level, ordinal } = grid.focus;
  if (event.ctrlKey || grid.isLane(level)) return { level, ordinal: isEnd ? level.end - 1 : level.first };
  const row = grid.rowOf(level, ordinal);
  return { level, ordinal: isEnd ? grid.rowStart(row + 1) - 1 : grid.rowStart(row) };
}
