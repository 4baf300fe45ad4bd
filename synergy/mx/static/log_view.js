// A scrolling list of log lines, of any length: only the visible lines have elements in the page.
//
// `top` is the index of the first visible line; its fraction is the part of that line above the upper
// edge. The scrolled space is as tall as all lines together, each counted with the height of an unwrapped
// one. It is at most `MAX_HEIGHT`, and is scaled for longer logs.

import { element } from "./dom.js";
import { rowOf } from "./log_row.js";

const MAX_HEIGHT = 8e6; // pixels; browsers scroll taller elements imprecisely
const AHEAD = 100; // lines beyond the edges to load in advance

export class LogView {
  constructor(place, source, { picked, moved }) {
    this.source = source;
    this.picked = picked; // called after a line was selected
    this.moved = moved; // called after the user scrolled
    this.top = 0;
    this.chosen = null; // number of a line
    this.isWrapped = false;
    this.scrollSet = -1; // the position to which the script moved the scroll bar
    this.rows = new Map();
    this.build(place);
    this.rowHeight = this.measure();
    this.frame = 0; // the id of the requested animation frame; 0 if there is none
  }

  build(place) {
    this.list = element("div", "lv-rows", { role: "presentation" });
    this.window = element("div", "lv-window", { role: "presentation" }, this.list);
    this.space = element("div", "lv-space", { role: "presentation" }, this.window);
    this.box = element("div", "lv", { id: "log-lines", tabindex: 0, role: "listbox", "aria-label": "Lines" }, this.space);
    place.replaceChildren(this.box);
    this.box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.box.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.box.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.resized()).observe(this.box);
  }

  measure() {
    const row = rowOf({ number: 1, at: "", level: "", event: "", message: "x", more: {} }, {});
    this.list.append(row);
    const height = row.getBoundingClientRect().height || 20;
    row.remove();
    return height;
  }

  get height() {
    return this.box.clientHeight;
  }

  /** The number of lines that fit, if none is wrapped. */
  get room() {
    return this.height / this.rowHeight;
  }

  get lastTop() {
    return Math.max(0, this.isWrapped ? this.source.count - 1 : this.source.count - this.room);
  }

  get isAtEnd() {
    return this.isWrapped ? this.isEndVisible : this.top >= this.lastTop - 0.5;
  }

  /** Draws the visible lines in the next frame. */
  draw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const { source } = this;
    this.top = Math.min(Math.max(0, this.top), this.lastTop);
    const first = Math.floor(this.top);
    const end = Math.min(source.count, first + Math.ceil(this.room) + 1);
    const extent = this.isWrapped ? (source.count - 1) * this.rowHeight + this.height : source.count * this.rowHeight;
    this.space.style.height = `${Math.max(this.height, Math.min(MAX_HEIGHT, extent))}px`;
    this.window.style.height = `${this.height}px`;
    this.showRows(first, end);
    this.setScrollBar();
    source.want(first - AHEAD, end + AHEAD);
  }

  /** Shows the lines from `first` up to, but without, `end`; existing rows are reused. */
  showRows(first, end) {
    const kept = new Map();
    let before = null;
    for (let index = first; index < end; index += 1) {
      const number = this.source.numberAt(index);
      const line = this.source.line(index);
      const old = this.rows.get(number);
      const row = old && (old.isFull || !line) ? old.row : rowOf(line ?? { number }, this.source.filter);
      kept.set(number, { row, isFull: Boolean(line) || Boolean(old?.isFull) });
      this.annotate(row, number, index);
      const next = before ? before.nextSibling : this.list.firstChild;
      if (next !== row) this.list.insertBefore(row, next);
      before = row;
    }
    for (const [number, { row }] of this.rows) if (kept.get(number)?.row !== row) row.remove();
    this.rows = kept;
    const height = this.isWrapped ? (this.list.firstChild?.getBoundingClientRect().height ?? 0) : this.rowHeight;
    this.list.style.transform = `translateY(${-(this.top - first) * height}px)`;
    const edge = this.box.getBoundingClientRect().bottom;
    const last = this.list.lastChild?.getBoundingClientRect().bottom ?? 0;
    this.isEndVisible = end >= this.source.count && last <= edge + 1;
  }

  annotate(row, number, index) {
    const isChosen = number === this.chosen;
    row.setAttribute("aria-posinset", String(index + 1));
    row.setAttribute("aria-setsize", String(this.source.count));
    row.setAttribute("aria-selected", String(isChosen));
    row.classList.toggle("is-match", !this.source.isFiltered && this.source.isMatch(number));
  }

  /* The scroll bar */

  get scrollable() {
    return Math.max(1, parseFloat(this.space.style.height) - this.height);
  }

  setScrollBar() {
    const wanted = this.lastTop ? (this.top / this.lastTop) * this.scrollable : 0;
    if (Math.abs(this.box.scrollTop - wanted) < 1) return;
    this.box.scrollTop = wanted;
    this.scrollSet = this.box.scrollTop;
  }

  scrolled() {
    const at = this.box.scrollTop;
    if (Math.abs(at - this.scrollSet) < 1) return;
    this.scrollSet = -1;
    const top = (at / this.scrollable) * this.lastTop;
    if (Math.abs(top - this.top) * this.rowHeight < 1) return;
    this.top = top;
    this.draw();
    this.moved();
  }

  /** Where the scroll bar is scaled, lets the wheel scroll as far as in a short log. */
  wheeled(event) {
    if (this.source.count * this.rowHeight <= MAX_HEIGHT || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const unit = [1, this.rowHeight, this.height][event.deltaMode];
    this.top += (event.deltaY * unit) / this.rowHeight;
    this.draw();
    this.moved();
  }

  /* Moving */

  toEnd() {
    this.top = this.lastTop;
    if (this.isWrapped) this.fitEnd();
    this.draw();
  }

  /** Sets `top` so that the last lines, which are taller if wrapped, fill the view. */
  fitEnd() {
    this.top = Math.max(0, this.source.count - Math.ceil(this.room));
    this.drawNow();
    let left = this.height;
    let fit = 0;
    for (const row of [...this.list.children].reverse()) {
      left -= row.getBoundingClientRect().height;
      if (left < 0) break;
      fit += 1;
    }
    this.top = Math.max(0, this.source.count - Math.max(1, fit));
  }

  toLine(number) {
    const index = this.source.indexOf(number);
    this.top = index - this.room / 3;
    this.choose(number);
  }

  /** Selects a line, and scrolls it into view. */
  choose(number) {
    this.chosen = number;
    this.reveal();
    this.box.setAttribute("aria-activedescendant", `row-${number}`);
    this.picked();
  }

  reveal() {
    const number = this.chosen;
    const index = this.source.indexOf(number);
    if (index < this.top) this.top = index;
    else if (index > this.top + this.room - 1) this.top = index - this.room + 1;
    this.drawNow();
    const row = this.rows.get(number)?.row;
    if (this.isWrapped && row && row.getBoundingClientRect().bottom > this.box.getBoundingClientRect().bottom) {
      this.top = index;
      this.drawNow();
    }
  }

  /** Keeps the selected line in view. */
  resized() {
    if (this.rows.has(this.chosen)) this.reveal();
    else this.draw();
  }

  step(by) {
    if (!this.source.count) return;
    const index = this.chosen === null ? Math.floor(this.top) - Math.sign(by) : this.source.indexOf(this.chosen);
    const next = Math.min(this.source.count - 1, Math.max(0, index + by));
    this.choose(this.source.numberAt(next));
  }

  clicked(event) {
    const row = event.target.closest(".lv-row");
    if (!row || !getSelection().isCollapsed) return;
    this.choose(Number(row.dataset.number));
  }

  wrap(isWrapped) {
    const first = Math.floor(this.top);
    const isChosenVisible = this.rows.has(this.chosen);
    const wasAtEnd = this.isAtEnd;
    this.isWrapped = isWrapped;
    this.box.classList.toggle("is-wrapped", isWrapped);
    this.top = first;
    this.drawNow();
    if (isChosenVisible) this.reveal();
    else if (wasAtEnd) this.toEnd();
  }

  /** Drops all rows, after the lines have changed. */
  forget() {
    for (const { row } of this.rows.values()) row.remove();
    this.rows.clear();
    this.draw();
  }
}
