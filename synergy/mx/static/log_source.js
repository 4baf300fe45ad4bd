// A log as MX answers it: its lines by number, in pages that are kept for a while.
//
// Numbers begin with 1 at the oldest line that is still there. When the oldest part of a log file
// is thrown away, all numbers fall; whoever holds some is told by `shifted`.

import { ask } from "./ask.js";

const PAGE = 200; // lines
const KEPT = 60; // pages
const AT_ONCE = 3; // requests
const PAUSE = 3000; // milliseconds after which what failed is tried again
const NUMBERS = 20000; // of lines that are looked for, in one answer
export const MOST = 200000; // lines that are found, of which no more are looked for

export class LogSource {
  /** `url`: where the API has the log; `changed()`, `shifted(by)` and `failed(problem)` are told. */
  constructor(url, { changed, shifted, failed }) {
    this.url = url;
    this.changed = changed;
    this.shifted = shifted;
    this.failed = failed;
    this.total = 0;
    this.parts = [];
    this.filter = { q: "", level: "" };
    this.matches = null; // numbers, null while nothing is looked for
    this.lookedTo = 0;
    this.isLooking = false;
    this.only = true;
    this.pages = new Map(); // by their index, the one used last at the end
    this.coming = new Set();
    this.turn = 0; // rises with everything that makes answers on their way useless
  }

  /** How many lines there are to show. */
  get count() {
    return this.isFiltered ? this.matches.length : this.total;
  }

  get isFiltered() {
    return this.matches !== null && this.only;
  }

  /** The number of the line at a place among those that are shown. */
  numberAt(index) {
    return this.isFiltered ? this.matches[index] : index + 1;
  }

  /** The place of a line, or of the next one that is shown. */
  indexOf(number) {
    return this.isFiltered ? lowerBound(this.matches, number) : number - 1;
  }

  isMatch(number) {
    return this.matches !== null && this.matches[lowerBound(this.matches, number)] === number;
  }

  /** The match before (-1) or behind (1) a line; null if there is none. */
  matchFrom(number, step) {
    const at = lowerBound(this.matches, step > 0 ? number + 1 : number);
    return this.matches[step > 0 ? at : at - 1] ?? null;
  }

  /** The line at a place; undefined while it is not here. */
  line(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Sees to it that the lines from `first` to `last` come. */
  want(first, last) {
    const end = Math.min(last, this.count - 1);
    for (let page = Math.floor(Math.max(0, first) / PAGE); page <= Math.floor(end / PAGE); page += 1) {
      const there = this.pages.get(page);
      if (there) {
        this.pages.delete(page);
        this.pages.set(page, there);
      }
      const size = Math.min(PAGE, this.count - page * PAGE);
      if ((there?.length ?? 0) < size && !this.coming.has(page) && this.coming.size < AT_ONCE) this.fetch(page, size);
    }
  }

  async fetch(page, size) {
    const turn = this.turn;
    this.coming.add(page);
    let lines = this.pages.get(page) ?? [];
    const again = () => setTimeout(() => {
      if (turn !== this.turn) return;
      this.coming.delete(page);
      this.changed();
    }, PAUSE);
    try {
      while (lines.length < size) {
        const after = this.numberAt(page * PAGE + lines.length) - 1;
        const wanted = this.isFiltered ? this.filter : {};
        const data = await this.get("", { after, limit: size - lines.length, ...wanted });
        if (turn !== this.turn || data === null) return;
        if (!data.items.length) break;
        lines = [...lines, ...data.items];
      }
      this.keep(page, lines);
      if (lines.length < size) return void again(); // the log has become shorter
      this.coming.delete(page);
      this.changed();
    } catch (problem) {
      this.failed(problem);
      again();
    }
  }

  keep(page, lines) {
    this.pages.delete(page);
    this.pages.set(page, lines);
    while (this.pages.size > KEPT) this.pages.delete(this.pages.keys().next().value);
  }

  /** Looks how long the log is by now. */
  async look() {
    try {
      const data = await this.get("", { after: this.total, limit: 1 });
      if (data === null) return;
      const was = this.total;
      this.total = data.total;
      if (this.total < was) this.reset();
      if (this.total !== was) {
        if (this.matches !== null && !this.isLooking) await this.lookOn(this.turn);
        this.changed();
      }
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** Looks for lines; with an empty filter for none. */
  async find(filter, only) {
    this.filter = filter;
    this.only = only;
    this.reset();
    const isAny = !filter.q && !filter.level;
    this.matches = isAny ? null : [];
    this.changed();
    if (!isAny) await this.lookOn(this.turn);
  }

  /** Shows the lines that are not looked for as well, or not. */
  setOnly(only) {
    this.only = only;
    this.forget();
    this.changed();
  }

  async lookOn(turn) {
    this.isLooking = true;
    try {
      while (this.matches.length < MOST) {
        const data = await this.get("/matches", { after: this.lookedTo, limit: NUMBERS, ...this.filter });
        if (turn !== this.turn || data === null) return;
        for (const number of data.numbers) this.matches.push(number);
        this.lookedTo = data.next ?? data.total;
        this.total = Math.max(this.total, data.total);
        this.changed();
        if (data.next === null) break;
      }
    } catch (problem) {
      this.failed(problem);
    } finally {
      if (turn === this.turn) {
        this.isLooking = false;
        this.changed();
      }
    }
  }

  /** Asks MX; null if the numbers have fallen meanwhile, so that it has to be asked anew. */
  async get(path, query) {
    const turn = this.turn;
    const asked = new URLSearchParams({ ...query, start: this.parts[0]?.id ?? "" });
    try {
      const { data } = await ask("GET", `${this.url}${path}?${asked}`);
      if (turn === this.turn) this.parts = data.parts;
      return data;
    } catch (problem) {
      if (problem.status !== 409) throw problem;
      if (turn === this.turn) await this.fall();
      return null;
    }
  }

  async fall() {
    const turn = (this.turn += 1);
    const { data } = await ask("GET", `${this.url}?limit=1`);
    if (turn !== this.turn) return;
    const at = this.parts.findIndex((part) => part.id === data.parts[0]?.id);
    const gone = at < 0 ? this.parts : this.parts.slice(0, at);
    const by = gone.reduce((sum, part) => sum + part.lines, 0);
    this.parts = data.parts;
    this.total = data.total;
    this.forget();
    this.isLooking = false;
    if (this.matches !== null) {
      this.matches = this.matches.map((number) => number - by).filter((number) => number > 0);
      this.lookedTo = Math.max(0, this.lookedTo - by);
    }
    this.shifted(by);
    if (this.matches !== null) await this.lookOn(this.turn);
    this.changed();
  }

  reset() {
    this.forget();
    this.isLooking = false;
    if (this.matches !== null) this.matches = [];
    this.lookedTo = 0;
  }

  forget() {
    this.turn += 1;
    this.pages.clear();
    this.coming.clear();
  }
}

/** The first place in sorted numbers that is not below `number`. */
function lowerBound(numbers, number) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
