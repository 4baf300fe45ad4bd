// The calendar of one tree: time downwards, a row for each parent of the finest periods, coarser
// processes as lanes of bars to the left. Only rows that can be seen are in the document; they
// are reused as the calendar scrolls.

import * as cal from "./calendar.js";
import { Bars } from "./timetable_bars.js";
import { element } from "./dom.js";
import { GAP, named, newCell, paintCell } from "./timetable_cells.js";

const OVERSCAN = 4; // rows painted beyond either edge
const EDGES = 8; // pixels above and below all rows
const NARROW = 620; // the width of the calendar, in pixels, below which lanes shrink
const SMALLEST = 15; // the width of a cell, in pixels, below which a row takes two lines
const MOST_CELLS = { hourly: 24, daily: 31, monthly: 12, yearly: 10 };

export class Grid {
  // `view` is the element that scrolls; `now` is in milliseconds.
  constructor(view, tree, now) {
    this.view = view;
    this.tree = tree;
    this.marks = () => ""; // (level, ordinal): further classes of a cell
    this.afterPaint = () => {}; // (row at the top, row at the bottom)
    this.newestFirst = true;
    this.fine = tree.finest;
    this.rowQualifier = cal.above(this.fine.qualifier);
    this.columns = MOST_CELLS[this.fine.qualifier];
    this.today = this.rowNow(now);
    this.lanes = this.makeLanes();
    this.slots = [];
    this.bars = new Bars(this);
    this.version = 0;
    this.focus = { level: this.fine, ordinal: this.fine.end - 1 };
    this.build();
    this.resize();
    view.addEventListener("scroll", () => this.paint(), { passive: true });
    view.addEventListener("focusin", (event) => this.follow(event.target.period));
    view.addEventListener("focus", () => this.holding || this.moveTo(this.focus.level, this.focus.ordinal));
    new ResizeObserver(() => this.resize()).observe(view);
  }

  makeLanes() {
    const coarse = cal.QUALIFIERS.slice(cal.QUALIFIERS.indexOf(this.rowQualifier)).reverse();
    const shown = coarse.filter((qualifier) => qualifier !== "decade" || this.rowQualifier === "decade");
    return shown.map((qualifier, index) => ({
      qualifier,
      index,
      level: this.tree.levels.find((level) => level.qualifier === qualifier) ?? null,
    }));
  }

  // The document

  build() {
    this.view.style.setProperty("--lanes", this.lanes.length);
    this.head = element("div", "cal-head", { role: "row", "aria-rowindex": 1 });
    this.body = element("div", "cal-body", { role: "rowgroup" });
    for (const lane of this.lanes) {
      const head = element("div", "cal-lane-head", { role: "columnheader", "aria-colindex": lane.index + 1 });
      if (lane.level) named(head, lane.level.name);
      else head.append(element("span", "muted", {}, lane.qualifier.replace(/ly$/, "").replace("dai", "day")));
      this.head.append(head);
    }
    const fine = element("div", "cal-fine-head", { role: "columnheader", "aria-colindex": this.lanes.length + 1 });
    fine.setAttribute("elementtiming", "calendar"); // browsers note when it was first seen
    named(fine, this.fine.name);
    this.scale = element("div", "cal-scale", { "aria-hidden": "true" });
    for (let n = 0; n < this.columns; n += 1) this.scale.append(element("span", "", {}, this.columnName(n)));
    fine.append(this.scale);
    this.head.append(fine);
    this.row = element("div", "cal-row", { role: "row" }); // what rows are copies of
    for (let n = 0; n < this.columns; n += 1) {
      this.row.appendChild(newCell()).setAttribute("aria-colindex", this.lanes.length + n + 1);
    }
    this.view.setAttribute("aria-colcount", this.lanes.length + this.columns);
    this.view.replaceChildren(this.head, this.body);
  }

  columnName(column) {
    if (this.fine.qualifier === "daily") return String(column + 1);
    if (this.fine.qualifier === "monthly") return cal.label("monthly", column + 12 * 2000);
    return String(column).padStart(this.fine.qualifier === "hourly" ? 2 : 1, "0");
  }

  // Geometry

  get firstRow() { return this.rowOf(this.fine, this.fine.first); }
  get lastRow() { return this.rowOf(this.fine, this.fine.end - 1); }
  get rowCount() { return this.lastRow - this.firstRow + 1; }

  // The row that shows an instant, in milliseconds.
  rowNow(now) { return cal.up("hourly", cal.at("hourly", now), this.rowQualifier); }

  // The row that shows a period; for a bar of a lane, its oldest row.
  rowOf(level, ordinal) {
    return this.isLane(level)
      ? cal.down(level.qualifier, level.begin(ordinal), this.rowQualifier)
      : cal.up(level.qualifier, ordinal, this.rowQualifier);
  }

  isLane(level) { return level !== this.fine; }
  line(row) { return this.newestFirst ? this.lastRow - row : row - this.firstRow; }
  rowAt(line) { return this.newestFirst ? this.lastRow - line : this.firstRow + line; }
  rowStart(row) { return cal.down(this.rowQualifier, row, this.fine.qualifier); }

  resize() {
    const width = this.view.clientWidth;
    const height = this.view.clientHeight;
    if (!width || (width === this.width && height === this.viewHeight)) return;
    this.viewHeight = height;
    if (width === this.width) return this.paint();
    this.width = width;
    const place = this.view.parentElement;
    place.style.setProperty("--top", `${Math.round(place.getBoundingClientRect().top + scrollY)}px`);
    const narrow = width < NARROW;
    const lane = narrow ? 50 : 88;
    const room = width - this.lanes.length * (lane + GAP);
    const twoLines = room / this.columns < SMALLEST && this.fine.grouping === 1;
    this.perLine = twoLines ? Math.ceil(this.columns / 2) : this.columns;
    this.lineHeight = narrow ? 24 : 22;
    this.rowHeight = this.lineHeight * (twoLines ? 2 : 1) + (twoLines ? 4 : 0);
    const style = this.view.style;
    style.setProperty("--lane", `${lane}px`);
    style.setProperty("--per-line", this.perLine);
    style.setProperty("--cell", `${this.lineHeight - GAP}px`);
    this.view.classList.toggle("narrow", narrow);
    this.headHeight = this.head.offsetHeight;
    style.setProperty("--head", `${this.headHeight}px`);
    this.changed();
  }

  // Painting

  // Paints all visible cells again.
  changed() {
    this.version += 1;
    this.paint();
  }

  // Paints visible cells that have changed.
  paint() {
    const height = this.rowCount * this.rowHeight;
    if (this.height !== height) {
      this.height = height;
      this.body.style.height = `${height}px`;
      this.view.style.setProperty("--content", `${height + this.headHeight + EDGES}px`);
      this.view.setAttribute("aria-rowcount", this.rowCount + 1);
    }
    const top = this.view.scrollTop - this.headHeight;
    const first = Math.max(Math.floor(top / this.rowHeight) - OVERSCAN, 0);
    const last = Math.min(Math.ceil((top + this.view.clientHeight + this.headHeight) / this.rowHeight) + OVERSCAN, this.rowCount) - 1;
    const hadFocus = this.view.contains(document.activeElement);
    while (this.slots.length < last - first + 1) this.slots.push(this.newSlot());
    const shown = this.slots.length;
    for (let line = first; line <= last; line += 1) {
      const slot = this.slots[line % shown];
      if (slot.line !== line || slot.version !== this.version || slot.of !== shown) this.paintRow(slot, line, shown);
    }
    for (const slot of this.slots) if (slot.line < first || slot.line > last) hide(slot);
    const [one, other] = [this.rowAt(first), this.rowAt(last)];
    this.bars.paint(Math.min(one, other), Math.max(one, other));
    this.settleFocus(hadFocus);
    this.afterPaint(this.rowAt(Math.max(Math.floor(top / this.rowHeight) + 1, 0)), this.rowAt(last));
  }

  newSlot() {
    const row = this.body.appendChild(this.row.cloneNode(true));
    const cells = [...row.children];
    for (const cell of cells) cell.names = "c none";
    return { row, cells, line: -1, version: -1, of: 0 };
  }

  paintRow(slot, line, shown) {
    const row = this.rowAt(line);
    Object.assign(slot, { line, version: this.version, of: shown });
    slot.row.style.transform = `translateY(${line * this.rowHeight}px)`;
    slot.row.hidden = false;
    slot.row.className = row === this.today ? "cal-row today" : "cal-row";
    slot.row.setAttribute("aria-rowindex", line + 2);
    const start = this.rowStart(row);
    const end = this.rowStart(row + 1);
    const level = this.fine;
    let at = start;
    for (const cell of slot.cells) {
      if (at >= end) {
        paintCell(cell, null, 0, this);
        cell.hidden = true;
        continue;
      }
      const job = level.job(at);
      cell.hidden = false;
      paintCell(cell, level, job, this);
      if (level.grouping > 1) {
        cell.style.gridColumn = `${at - start + 1} / ${job - start + 2}`;
        cell.setAttribute("aria-colindex", this.lanes.length + at - start + 1);
      }
      at = job + 1;
    }
  }

  // Focus

  isFocus(level, ordinal) { return this.focus.level === level && this.focus.ordinal === ordinal; }

  // Follows the focus, which the browser moved to the cell of a job.
  follow(period) {
    if (!period || this.isFocus(period.level, period.ordinal)) return;
    this.moveTo(period.level, period.ordinal, { reveal: false, take: false });
  }

  // The cell of a job, if it is in the document.
  cell(level, ordinal) {
    if (this.isLane(level)) return this.bars.cell(level, ordinal);
    const line = this.line(this.rowOf(level, ordinal));
    const slot = this.slots[line % this.slots.length];
    if (!slot || slot.line !== line) return null;
    return slot.cells.find((cell) => cell.period?.ordinal === ordinal) ?? null;
  }

  // Moves the focus to a job; `reveal` scrolls to it.
  moveTo(level, ordinal, { reveal = true, row = null, take = true } = {}) {
    const within = Math.min(Math.max(ordinal, level.first), level.end - 1);
    const covering = level.job(within);
    const job = level.has(covering) ? covering : level.begin(covering) - 1;
    this.focus = { level, ordinal: job };
    this.anchorRow = row ?? this.rowOf(level, job);
    if (reveal) this.reveal(this.anchorRow);
    this.changed();
    if (take) this.cell(level, job)?.focus({ preventScroll: true });
  }

  // Scrolls so that a row can be seen; `centre` puts it into the middle.
  reveal(row, centre = false) {
    const top = this.line(Math.min(Math.max(row, this.firstRow), this.lastRow)) * this.rowHeight;
    const room = this.view.clientHeight - this.headHeight;
    const at = this.view.scrollTop;
    if (centre) this.view.scrollTop = top - (room - this.rowHeight) / 2;
    else if (top < at) this.view.scrollTop = top;
    else if (top + this.rowHeight > at + room) this.view.scrollTop = top + this.rowHeight - room;
  }

  // Scrolls to where a timeperiod begins.
  show(timeperiod) { this.reveal(cal.up("hourly", cal.cast("hourly", timeperiod), this.rowQualifier), true); }

  // Keeps the focus in the calendar, although its cell may show another job now.
  settleFocus(hadFocus) {
    const cell = this.cell(this.focus.level, this.focus.ordinal);
    this.view.tabIndex = cell ? -1 : 0;
    if (hadFocus && document.activeElement !== (cell ?? this.view)) {
      this.holding = true;
      (cell ?? this.view).focus({ preventScroll: true });
      this.holding = false;
    }
  }

  // Repaints after changes; if periods were added, the visible ones keep their place.
  grown() {
    const before = this.height / this.rowHeight;
    this.changed();
    const added = this.rowCount - before;
    if (this.newestFirst && added > 0 && this.view.scrollTop > this.rowHeight) {
      this.view.scrollTop += added * this.rowHeight;
    }
  }

  turn(newestFirst) {
    const row = this.rowAt(Math.floor(this.view.scrollTop / this.rowHeight));
    this.newestFirst = newestFirst;
    this.changed();
    this.reveal(row, true);
  }
}

function hide(slot) {
  slot.row.hidden = true;
  slot.line = -1;
}
