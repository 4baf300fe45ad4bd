// Interaction with the calendar of a tree, and its updates. timetable.js draws it first.

import { toast } from "./app.js";
import * as cal from "./calendar.js";
import { describe } from "./timetable_cells.js";
import { Live } from "./timetable_live.js";
import { Panel } from "./timetable_panel.js";
import { Selection } from "./timetable_selection.js";
import { showTip } from "./timetable_tip.js";

const page = document.getElementById("timetable");
const view = document.getElementById("calendar");
const live = document.getElementById("calendar-status");
const strip = document.getElementById("strip");
const path = `/api/v1/trees/${encodeURIComponent(page.dataset.tree)}`;

export class TimetablePage {
  // `ahead` is by how many milliseconds MX's clock is ahead of this machine's.
  constructor(tree, grid, ahead) {
    this.tree = tree;
    this.grid = grid;
    this.ahead = ahead;
    this.selecting = false;
    this.selection = new Selection(document.getElementById("selection"), tree, () => grid.changed(), say);
    this.panel = new Panel(document.getElementById("job-panel"), () => this.closePanel());
    this.live = new Live(tree, path, () => this.settle());
    grid.marks = (level, ordinal) => this.marks(level, ordinal);
    grid.afterPaint = (older, newer) => this.showPlace(Math.min(older, newer), Math.max(older, newer));
    this.wire();
    this.openNamed();
    this.live.start();
    this.showTotals();
    strip.scrollLeft = strip.scrollWidth;
    grid.changed();
  }

  // Classes besides the state.
  marks(level, ordinal) {
    const isShown = this.panel.isOpen && this.panel.shown === `${level.name}/${level.timeperiod(ordinal)}`;
    return this.selection.marks(level, ordinal) + (this.live.isNew(level, ordinal) ? " flash" : "") + (isShown ? " shown" : "");
  }

  // Actions of mouse, touch and keyboard.
  actions() {
    const { grid, selection } = this;
    return {
      open: (level, ordinal) => this.open(level, ordinal),
      choose: (level, ordinal, isExtending, from) => this.choose(level, ordinal, isExtending, from),
      extend: (from, level, ordinal) => {
        grid.moveTo(level, ordinal, { reveal: false });
        selection.extend(from, level, ordinal);
      },
      drag: (level, from, to) => {
        grid.moveTo(level, to, { reveal: false });
        selection.select(level, from, to);
      },
      clear: () => selection.clear() || this.closePanel(),
      problem: (step) => this.toProblem(step),
      announce: () => say(this.wordsFor(grid.focus.level, grid.focus.ordinal)),
      hover: (cell) => showTip(cell),
    };
  }

  wire() {
    const { grid } = this;
    this.control("select", (button) => {
      this.selecting = toggled(button);
      view.classList.toggle("selecting", this.selecting);
    });
    this.control("turn", (button) => {
      grid.turn(!toggled(button));
      this.showNow();
    });
    this.control("next", () => this.toProblem(1));
    this.control("previous", () => this.toProblem(-1));
    this.control("now", () => {
      view.scrollTop = 0;
      grid.reveal(grid.lastRow);
    });
    page.querySelector("form.jump").addEventListener("submit", (event) => this.jump(event));
    page.querySelector(".legend").addEventListener("click", (event) => this.filter(event.target.closest("button")));
    strip.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-at]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.grid.show(link.dataset.at);
    });
    document.getElementById("job-panel").addEventListener("click", (event) => this.followLink(event));
    addEventListener("hashchange", () => this.openNamed());
    document.addEventListener("htmx:afterSwap", (event) => {
      if (event.detail.target !== strip) return;
      this.place = "";
      grid.paint();
    });
  }

  control(name, does) {
    const button = page.querySelector(`[data-do="${name}"]`);
    button.addEventListener("click", () => does(button));
  }

  wordsFor(level, ordinal) {
    return `${cal.words(level.qualifier, ordinal)}: ${describe(level, ordinal).split(": ")[1]}`;
  }

  // Moving

  open(level, ordinal, focus = false) {
    this.grid.moveTo(level, ordinal, { take: !focus, row: this.grid.isLane(level) ? this.grid.anchorRow : null, reveal: false });
    const job = this.grid.focus.ordinal;
    this.panel.open(level.name, level.timeperiod(job), focus);
    this.grid.changed();
  }

  // A click or a tap opens a job, or selects from where the focus was; `from` is that job.
  choose(level, ordinal, isExtending, from) {
    const actions = this.actions();
    if ((isExtending || this.selecting) && from.level === level) actions.extend(from.ordinal, level, ordinal);
    else if (this.selecting) actions.drag(level, ordinal, ordinal);
    else this.open(level, ordinal);
  }

  openNamed() {
    const named = Panel.named();
    const level = named && this.tree.byName.get(named[0]);
    if (!level || this.panel.shown === named.join("/")) return;
    const ordinal = level.ordinal(named[1]);
    if (!level.has(ordinal)) return toast(`${named[0]} has no period ${named[1]}.`, "danger");
    this.grid.reveal(this.grid.rowOf(level, ordinal), true);
    this.open(level, ordinal);
  }

  // Jobs of this tree are shown in the calendar, others on the page of their tree.
  followLink(event) {
    const link = event.target.closest("a[data-job]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const [name, timeperiod] = link.dataset.job.split("/");
    const level = this.tree.byName.get(name);
    if (!level) return;
    event.preventDefault();
    const ordinal = level.ordinal(timeperiod);
    this.grid.reveal(this.grid.rowOf(level, ordinal), true);
    this.open(level, ordinal, true);
  }

  closePanel() {
    if (!this.panel.isOpen) return;
    this.panel.close();
    this.grid.moveTo(this.grid.focus.level, this.grid.focus.ordinal, { row: this.grid.anchorRow });
  }

  toProblem(step) {
    const { level, ordinal } = this.grid.focus;
    const found = this.tree.nextProblem(level, ordinal, step);
    if (!found) return toast(step > 0 ? "There are no further problems." : "There are no earlier problems.");
    this.grid.reveal(this.grid.rowOf(found.level, found.ordinal), true);
    this.grid.moveTo(found.level, found.ordinal);
    say(this.wordsFor(found.level, found.ordinal));
    showTip(this.grid.cell(found.level, found.ordinal));
  }

  jump(event) {
    event.preventDefault();
    const text = event.target.elements.at.value;
    const at = cal.typed(text);
    if (!at) return toast(`"${text}" is not a timeperiod: use 2026, 2026-11, 2026-11-21 or 2026112103.`, "danger");
    this.grid.show(at);
    const level = this.tree.levels.find((each) => each.timeperiod(each.ordinal(at)) === at) ?? this.tree.finest;
    this.grid.moveTo(level, level.ordinal(at));
    this.grid.reveal(this.grid.rowOf(level, this.grid.focus.ordinal), true);
    say(this.wordsFor(level, this.grid.focus.ordinal));
  }

  // Overview and legend

  // Marks the months of the overview that the calendar shows.
  showPlace(older, newer) {
    const begin = (row) => cal.down(this.grid.rowQualifier, row, "hourly");
    const month = (hour) => cal.timeperiod("monthly", cal.up("hourly", hour, "monthly"));
    const [from, to] = [month(begin(older)), month(begin(newer + 1) - 1)];
    if (this.place === from + to) return;
    this.place = from + to;
    for (const link of strip.querySelectorAll("a[data-at]")) {
      link.classList.toggle("in-view", link.dataset.at >= from && link.dataset.at <= to);
    }
  }

  filter(button) {
    if (!button) return;
    toggled(button);
    const only = [...page.querySelectorAll(".legend [aria-pressed=true]")].map((each) => each.dataset.only);
    view.classList.toggle("filtered", only.length > 0);
    for (const each of page.querySelectorAll(".legend [data-only]")) {
      view.classList.toggle(`only-${each.dataset.only}`, only.includes(each.dataset.only));
    }
  }

  showTotals() {
    const totals = this.tree.totals();
    for (const button of page.querySelectorAll(".legend [data-only]")) {
      const count = totals[button.dataset.only] ?? 0;
      button.querySelector("b").textContent = count.toLocaleString("en");
      button.classList.toggle("none", count === 0);
    }
  }

  showNow() {
    this.grid.today = this.grid.rowNow(Date.now() + this.ahead);
  }

  // Redraws after changes; many changes are drawn once.
  settle() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.showNow();
      this.grid.grown();
      this.showTotals();
      this.selection.refresh();
    });
  }
}

function toggled(button) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", isOn);
  return isOn;
}

function say(text) {
  live.textContent = text;
}
