// A tree's jobs, one byte each, as GET /api/v1/trees/{tree} tells them and events change them.

import * as cal from "./calendar.js";

export const STATES = ["embryo", "in_progress", "final_run", "processed", "noop", "skipped"];
export const STALE = 8;
const CODE = Object.fromEntries(STATES.map((word, code) => [word, code]));
const FINISHED = CODE.processed; // the states from here on are
const AHEAD = 4096; // bytes kept free for periods to come

// The jobs of one process.
export class Level {
  constructor(told) {
    this.name = told.name;
    this.qualifier = told.qualifier;
    this.grouping = told.time_grouping;
    this.failing = new Set();
    this.first = cal.cast(this.qualifier, told.first);
    this.states = new Uint8Array(0);
    this.take(told);
  }

  // Takes over what is told; what lies outside of it stays as it was.
  take(told) {
    this.grow(this.ordinal(told.last) + 1);
    this.closed = this.ordinal(told.closed);
    this.lateBefore = this.ordinal(told.late_before);
    let at = told.from ? this.ordinal(told.from) - this.first : 0;
    for (const [word, count, mark] of told.runs) {
      this.states.fill(CODE[word] | (mark === "stale" ? STALE : 0), at, at + count);
      at += count;
    }
  }

  grow(end) {
    this.end = end;
    if (end - this.first <= this.states.length) return;
    const states = new Uint8Array(end - this.first + AHEAD);
    states.set(this.states);
    this.states = states;
  }

  has(ordinal) { return ordinal >= this.first && ordinal < this.end; }
  code(ordinal) { return this.states[ordinal - this.first] & 7; }
  word(ordinal) { return STATES[this.code(ordinal)]; }
  isStale(ordinal) { return Boolean(this.states[ordinal - this.first] & STALE); }
  isUnfinished(ordinal) { return this.code(ordinal) < FINISHED; }
  isLate(ordinal) { return ordinal < this.lateBefore && this.isUnfinished(ordinal); }
  isOpen(ordinal) { return ordinal >= this.closed; }
  isFailing(ordinal) { return this.failing.has(ordinal) && this.isUnfinished(ordinal); }
  job(ordinal) { return cal.checkpoint(this.qualifier, ordinal, this.grouping); }
  begin(ordinal) { return cal.covered(this.qualifier, ordinal, this.grouping); }
  ordinal(timeperiod) { return cal.cast(this.qualifier, timeperiod); }
  timeperiod(ordinal) { return cal.timeperiod(this.qualifier, ordinal); }

  // What is to be said of a job beside its state.
  marks(ordinal) {
    const marks = [];
    if (this.isFailing(ordinal)) marks.push("failing");
    if (this.isLate(ordinal)) marks.push("late");
    if (this.isStale(ordinal)) marks.push("stale");
    if (this.isOpen(ordinal) && this.isUnfinished(ordinal)) marks.push("open");
    return marks;
  }

  // The kind of problem that a job is, or ''.
  problem(ordinal) {
    if (this.isFailing(ordinal)) return "failing";
    if (this.isLate(ordinal)) return "late";
    if (this.isStale(ordinal)) return "stale";
    return this.code(ordinal) === CODE.skipped ? "skipped" : "";
  }

  // Counts by state of the jobs `first` to `last`, without states that none has.
  counts(first = this.first, last = this.end - 1) {
    const found = new Array(STATES.length).fill(0);
    const end = last + 1 - this.first;
    for (let n = first - this.first; n < end; n += 1) found[this.states[n] & 7] += 1;
    return Object.fromEntries(STATES.map((word, code) => [word, found[code]]).filter(([, count]) => count));
  }
}

// All processes of a tree, from coarse to fine.
export class TreeModel {
  constructor(told) {
    this.name = told.name;
    this.levels = told.processes.map((each) => new Level(each));
    this.byName = new Map(this.levels.map((level) => [level.name, level]));
    this.finest = this.levels.at(-1);
  }

  take(told) {
    for (const each of told.processes) this.byName.get(each.name)?.take(each);
  }

  // What an entry of the journal changes: [level, first, last], or null.
  apply(entry) {
    const level = this.byName.get(entry.process);
    if (!level || !entry.first) return null;
    const first = cal.cast(level.qualifier, entry.first);
    const last = cal.cast(level.qualifier, entry.last || entry.first);
    if (entry.event.startsWith("unit.")) {
      if (entry.event === "unit.invalid") level.failing.add(first);
      else level.failing.delete(first);
      return [level, first, first];
    }
    if (!(entry.after in CODE) || first < level.first) return null;
    if (last >= level.end) level.grow(last + 1);
    const code = CODE[entry.after] | (entry.event === "job.stale" ? STALE : 0);
    level.states.fill(code, first - level.first, last + 1 - level.first);
    return [level, first, last];
  }

  // How many jobs there are in each state, and how many with each mark, over all processes.
  totals() {
    const totals = Object.fromEntries([...STATES, "late", "failing", "stale"].map((word) => [word, 0]));
    for (const level of this.levels) {
      const { states, first } = level;
      const late = Math.min(level.lateBefore, level.end) - first;
      for (let n = 0; n < level.end - first; n += 1) {
        const code = states[n] & 7;
        totals[STATES[code]] += 1;
        if (n < late && code < FINISHED) totals.late += 1;
        if (states[n] & STALE) totals.stale += 1;
      }
      for (const ordinal of level.failing) if (level.isFailing(ordinal)) totals.failing += 1;
    }
    return totals;
  }

  // The nearest job later (`step` 1) or earlier (-1) than another that has a problem which its
  // neighbour on this side has not: { level, ordinal } or null. Of periods that begin together
  // the coarser one comes first.
  nextProblem(level, ordinal, step) {
    const from = [cal.start(level.qualifier, ordinal), this.levels.indexOf(level)];
    const found = this.levels.flatMap((each, rank) => nearest(each, rank, from, step));
    return found.sort((a, b) => step * (a.start - b.start || a.rank - b.rank))[0] ?? null;
  }
}

function nearest(level, rank, [instant, ownRank], step) {
  let at = cal.at(level.qualifier, instant);
  const isExact = cal.start(level.qualifier, at) === instant;
  const isBeyond = isExact ? (rank - ownRank) * step > 0 : step < 0;
  if (!isBeyond) at += step;
  at = step > 0 ? Math.max(at, level.first) : Math.min(at, level.end - 1);
  let before = level.has(at - step) ? level.problem(at - step) : "";
  for (; level.has(at); at += step) {
    if (level.job(at) !== at) continue;
    const kind = level.problem(at);
    if (kind && kind !== before) return [{ level, rank, ordinal: at, start: cal.start(level.qualifier, at) }];
    before = kind;
  }
  return [];
}
