// The coarser processes beside the rows: a lane for each, with a bar for each visible job. Bars are
// reused for other jobs.

import * as cal from "./calendar.js";
import { element } from "./dom.js";
import { GAP, newCell, paintCell } from "./timetable_cells.js";

const LANE = 1e7; // more than any ordinal of a lane; names bars by lane and job

export class Bars {
  constructor(grid) {
    this.grid = grid;
    this.shown = new Map();
    this.spare = [];
  }

  // Paints those of the rows `older` to `newer`.
  paint(older, newer) {
    const { rowQualifier, lanes } = this.grid;
    const wanted = new Set();
    for (const lane of lanes) {
      const to = cal.up(rowQualifier, newer, lane.qualifier);
      let at = cal.up(rowQualifier, older, lane.qualifier);
      while (at <= to) {
        const job = lane.level ? lane.level.job(at) : at;
        const key = lane.index * LANE + job;
        wanted.add(key);
        this.paintBar(key, lane, job);
        at = job + 1;
      }
    }
    for (const [key, bar] of this.shown) {
      if (wanted.has(key)) continue;
      this.shown.delete(key);
      bar.row.hidden = true;
      bar.cell.period = null;
      this.spare.push(bar);
    }
  }

  // The cell of a lane's job, if it is in the document.
  cell(level, ordinal) {
    const lane = this.grid.lanes.find((each) => each.level === level);
    return this.shown.get(lane.index * LANE + ordinal)?.cell ?? null;
  }

  paintBar(key, lane, job) {
    const { grid } = this;
    let bar = this.shown.get(key);
    if (bar && bar.version === grid.version) return;
    if (!bar) this.shown.set(key, (bar = this.spare.pop() ?? this.newBar()));
    bar.version = grid.version;
    const level = lane.level;
    const begin = level ? level.begin(job) : job;
    const from = Math.max(cal.down(lane.qualifier, begin, grid.rowQualifier), grid.firstRow);
    const to = Math.min(cal.down(lane.qualifier, job + 1, grid.rowQualifier) - 1, grid.lastRow);
    const lines = [grid.line(from), grid.line(to)].sort((a, b) => a - b);
    bar.row.hidden = to < from;
    bar.row.style.transform = `translateY(${lines[0] * grid.rowHeight}px)`;
    bar.row.style.height = `${(lines[1] - lines[0] + 1) * grid.rowHeight - GAP}px`;
    bar.row.style.left = `calc(${lane.index} * (var(--lane) + ${GAP}px))`;
    bar.row.setAttribute("aria-rowindex", lines[0] + 2);
    bar.cell.setAttribute("aria-colindex", lane.index + 1);
    bar.cell.setAttribute("aria-rowspan", lines[1] - lines[0] + 1);
    const text = begin === job
      ? cal.label(lane.qualifier, job)
      : `${cal.label(lane.qualifier, begin)}–${cal.label(lane.qualifier, job)}`;
    if (bar.text.textContent !== text) bar.text.textContent = text;
    paintCell(bar.cell, level, job, grid);
    if (!level) bar.cell.className = bar.cell.names = "bar-label";
  }

  newBar() {
    const row = element("div", "cal-bar", { role: "row" });
    const cell = row.appendChild(newCell());
    const text = cell.appendChild(element("span", "bar-text", {}));
    this.grid.body.append(row);
    return { row, cell, text, version: -1 };
  }
}
