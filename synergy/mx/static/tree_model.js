// The jobs of a tree, one byte each, from GET /api/v1/trees/{tree} and events.

import * as cal from "./calendar.js";

export const STATES = ["embryo", "in_progress", "final_run", "processed", "noop", "skipped", "failed", "given_up"];
export const PROBLEMS = ["failed", "given_up", "failing", "late", "unseen", "stale", "skipped"]; // the worst first
export const STALE = 8;
const CODE = Object.fromEntries(STATES.map((word, code) => [word, code]));
const FINISHED = CODE.processed; // the states from here on are not pending
const AHEAD = 4096; // bytes kept free for periods to come

// The jobs of one process.
export class Level {
  constructor(data) {
    this.name = data.name;
    this.qualifier = data.qualifier;
    this.grouping = data.time_grouping;
    this.failing = new Set();
    this.first = cal.cast(this.qualifier, data.first);
    this.states = new Uint8Array(0);
    this.take(data);
  }

  // Applies a response; jobs outside of it keep their state.
  take(data) {
    this.grow(this.ordinal(data.last) + 1);
    this.closed = this.ordinal(data.closed);
    this.lateBefore = this.ordinal(data.late_before);
    let at = data.from ? this.ordinal(data.from) - this.first : 0;
    for (const [word, count, mark] of data.runs) {
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
  isMarked(ordinal) { return Boolean(this.states[ordinal - this.first] & STALE); }
  isPending(ordinal) { return this.code(ordinal) < FINISHED; }
  isUnfinished(ordinal) { return this.isPending(ordinal) || this.code(ordinal) === CODE.failed; }
  isUnseen(ordinal) { return this.isMarked(ordinal) && this.code(ordinal) === CODE.skipped; }
  isStale(ordinal) { return this.isMarked(ordinal) && this.code(ordinal) !== CODE.skipped; }
  isLate(ordinal) { return ordinal < this.lateBefore && this.isPending(ordinal); }
  isOpen(ordinal) { return ordinal >= this.closed; }
  isFailing(ordinal) { return this.failing.has(ordinal) && this.isPending(ordinal); }
  job(ordinal) { return cal.checkpoint(this.qualifier, ordinal, this.grouping); }
  begin(ordinal) { return cal.covered(this.qualifier, ordinal, this.grouping); }
  ordinal(timeperiod) { return cal.cast(this.qualifier, timeperiod); }
  timeperiod(ordinal) { return cal.timeperiod(this.qualifier, ordinal); }

  // The marks of a job beside its state.
  marks(ordinal) {
    const marks = [];
    if (this.isFailing(ordinal)) marks.push("failing");
    if (this.isLate(ordinal)) marks.push("late");
    if (this.isStale(ordinal)) marks.push("stale");
    if (this.isUnseen(ordinal)) marks.push("unseen");
    if (this.isOpen(ordinal) && this.isUnfinished(ordinal)) marks.push("open");
    return marks;
  }

  // The problem of a job, one of PROBLEMS, or "".
  problem(ordinal) {
    const word = this.word(ordinal);
    if (word === "failed" || word === "given_up") return word;
    if (this.isFailing(ordinal)) return "failing";
    if (this.isLate(ordinal)) return "late";
    if (this.isUnseen(ordinal)) return "unseen";
    if (this.isStale(ordinal)) return "stale";
    return word === "skipped" ? word : "";
  }

  // The number of jobs in each state, from `first` to `last`; states without jobs are left out.
  counts(first = this.first, last = this.end - 1) {
    const found = new Array(STATES.length).fill(0);
    const end = last + 1 - this.first;
    for (let n = first - this.first; n < end; n += 1) found[this.states[n] & 7] += 1;
    return Object.fromEntries(STATES.map((word, code) => [word, found[code]]).filter(([, count]) => count));
  }
}

// All processes of a tree, from coarse to fine.
export class TreeModel {
  constructor(data) {
    this.name = data.name;
    this.levels = data.processes.map((each) => new Level(each));
    this.byName = new Map(this.levels.map((level) => [level.name, level]));
    this.finest = this.levels.at(-1);
  }

  take(data) {
    for (const each of data.processes) this.byName.get(each.name)?.take(each);
  }

  // Applies a journal entry; returns what changed as [level, first, last], or null.
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
    for (let n = first - level.first; n <= last - level.first; n += 1) {
      level.states[n] = CODE[entry.after] | (isMarked(entry, level.states[n]) ? STALE : 0);
    }
    return [level, first, last];
  }

  // The number of jobs in each state, and with each mark, over all processes.
  totals() {
    const totals = Object.fromEntries([...STATES, "late", "failing", "stale", "unseen"].map((word) => [word, 0]));
    for (const level of this.levels) {
      const { states, first } = level;
      const late = Math.min(level.lateBefore, level.end) - first;
      for (let n = 0; n < level.end - first; n += 1) {
        const code = states[n] & 7;
        totals[STATES[code]] += 1;
        if (n < late && code < FINISHED) totals.late += 1;
        if (states[n] & STALE) totals[code === CODE.skipped ? "unseen" : "stale"] += 1;
      }
      for (const ordinal of level.failing) if (level.isFailing(ordinal)) totals.failing += 1;
    }
    return totals;
  }

  // The problem after (`step` 1) or before (-1) a job: { level, ordinal } or null. Problems are ordered
  // by severity, then by time; of periods that begin together the coarser one is first. Neighbours
  // with the same problem count as one. From a job without a problem this finds the most severe kind,
  // in the direction of `step` first.
  nextProblem(level, ordinal, step) {
    const from = [cal.start(level.qualifier, ordinal), this.levels.indexOf(level)];
    const own = PROBLEMS.indexOf(level.problem(ordinal));
    if (own < 0) return firstOf(PROBLEMS, (kind) => this.nearest(kind, from, step) ?? this.nearest(kind, farEnd(-step), step));
    const others = step > 0 ? PROBLEMS.slice(own + 1) : PROBLEMS.slice(0, own).reverse();
    return this.nearest(PROBLEMS[own], from, step) ?? firstOf(others, (kind) => this.nearest(kind, farEnd(-step), step));
  }

  // The nearest problem of a kind on one side of an instant.
  nearest(kind, from, step) {
    const found = this.levels.flatMap((level, rank) => nearest(level, rank, kind, from, step));
    return found.sort((a, b) => step * (a.start - b.start || a.rank - b.rank))[0] ?? null;
  }
}

// Whether a job carries the mark after an entry, if its byte was `before`.
function isMarked({ event, generation }, before) {
  if (event === "job.stale") return true;
  if (event === "job.acknowledged") return Boolean(before & STALE);
  return event === "job.failed" && generation > 1; // rows of the previous generation are still there
}

const farEnd = (step) => [step * Infinity, step * Infinity];

function firstOf(kinds, find) {
  for (const kind of kinds) {
    const found = find(kind);
    if (found) return found;
  }
  return null;
}

function nearest(level, rank, kind, [instant, ownRank], step) {
  if (!Number.isFinite(instant)) return nearest(level, rank, kind, [cal.start(level.qualifier, step > 0 ? level.first - 1 : level.end), -1], step);
  let at = cal.at(level.qualifier, instant);
  const isExact = cal.start(level.qualifier, at) === instant;
  const isBeyond = isExact ? (rank - ownRank) * step > 0 : step < 0;
  if (!isBeyond) at += step;
  at = step > 0 ? Math.max(at, level.first) : Math.min(at, level.end - 1);
  let before = level.has(at - step) ? level.problem(at - step) : "";
  for (; level.has(at); at += step) {
    if (level.job(at) !== at) continue;
    const found = level.problem(at);
    if (found === kind && found !== before) return [{ level, rank, ordinal: at, start: cal.start(level.qualifier, at) }];
    before = found;
  }
  return [];
}
