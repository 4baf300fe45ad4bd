// The lines of a log by number, loaded in pages that are cached.
//
// Line 1 is the oldest one. When the oldest part of a log file is deleted, all numbers decrease;
// `shifted` is called with the difference.

import { ask } from "./ask.js";

const PAGE = 200; // lines
const MOST_PAGES = 60; // pages that are cached
const MOST_REQUESTS = 3; // pages that are loaded at a time
const RETRY_MS = 3000; // until a failed request is repeated
const NUMBERS = 20000; // line numbers in one response to a search
export const MOST = 200000; // matches, after which the search stops

export class LogSource {
  /** `url`: the log in the API; `changed()`, `shifted(by)` and `failed(problem)` are callbacks. */
  constructor(url, { changed, shifted, failed }) {
    this.url = url;
    this.changed = changed;
    this.shifted = shifted;
    this.failed = failed;
    this.total = 0;
    this.parts = [];
    this.filter = { q: "", level: "" };
    this.matches = null; // numbers, null without a search
    this.searchedTo = 0;
    this.isSearching = false;
    this.only = true;
    this.pages = new Map(); // by index, the last used one at the end
    this.loading = new Set();
    this.turn = 0; // increases when pending requests become obsolete
  }

  /** The number of lines to show. */
  get count() {
    return this.isFiltered ? this.matches.length : this.total;
  }

  get isFiltered() {
    return this.matches !== null && this.only;
  }

  /** The number of the line at an index of the shown ones. */
  numberAt(index) {
    return this.isFiltered ? this.matches[index] : index + 1;
  }

  /** The index of a line, or of the next shown one. */
  indexOf(number) {
    return this.isFiltered ? lowerBound(this.matches, number) : number - 1;
  }

  isMatch(number) {
    return this.matches !== null && this.matches[lowerBound(this.matches, number)] === number;
  }

  /** The match before (-1) or after (1) a line; null if there is none. */
  matchFrom(number, step) {
    const at = lowerBound(this.matches, step > 0 ? number + 1 : number);
    return this.matches[step > 0 ? at : at - 1] ?? null;
  }

  /** The line at an index; undefined until it is loaded. */
  line(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Begins to load the missing lines at the indexes `first` to `last`, in a few requests at a time. */
  want(first, last) {
    const end = Math.min(last, this.count - 1);
    for (let page = Math.floor(Math.max(0, first) / PAGE); page <= Math.floor(end / PAGE); page += 1) {
      const there = this.pages.get(page);
      if (there) this.keep(page, there);
      const size = Math.min(PAGE, this.count - page * PAGE);
      if ((there?.length ?? 0) < size && !this.loading.has(page) && this.loading.size < MOST_REQUESTS) this.fetch(page, size);
    }
  }

  async fetch(page, size) {
    const turn = this.turn;
    this.loading.add(page);
    let lines = this.pages.get(page) ?? [];
    const again = () => setTimeout(() => {
      if (turn !== this.turn) return;
      this.loading.delete(page);
      this.changed();
    }, RETRY_MS);
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
      this.loading.delete(page);
      this.changed();
    } catch (problem) {
      this.failed(problem);
      again();
    }
  }

  keep(page, lines) {
    this.pages.delete(page);
    this.pages.set(page, lines);
    while (this.pages.size > MOST_PAGES) this.pages.delete(this.pages.keys().next().value);
  }

  /** Updates the length of the log. */
  async refresh() {
    try {
      const data = await this.get("", { after: this.total, limit: 1 });
      if (data === null) return;
      const was = this.total;
      this.total = data.total;
      if (this.total < was) this.reset();
      if (this.total !== was) {
        if (this.matches !== null && !this.isSearching) await this.search(this.turn);
        this.changed();
      }
    } catch (problem) {
      this.failed(problem);
    }
  }

  /** Searches for lines; an empty filter ends the search. */
  async find(filter, only) {
    this.filter = filter;
    this.only = only;
    this.reset();
    const isAny = !filter.q && !filter.level;
    this.matches = isAny ? null : [];
    this.changed();
    if (!isAny) await this.search(this.turn);
  }

  /** Shows only matches, or all lines. */
  setOnly(only) {
    this.only = only;
    this.forget();
    this.changed();
  }

  async search(turn) {
    this.isSearching = true;
    try {
      while (this.matches.length < MOST) {
        const data = await this.get("/matches", { after: this.searchedTo, limit: NUMBERS, ...this.filter });
        if (turn !== this.turn || data === null) return;
        for (const number of data.numbers) this.matches.push(number);
        this.searchedTo = data.next ?? data.total;
        this.total = Math.max(this.total, data.total);
        this.changed();
        if (data.next === null) break;
      }
    } catch (problem) {
      this.failed(problem);
    } finally {
      if (turn === this.turn) {
        this.isSearching = false;
        this.changed();
      }
    }
  }

  /** The data of a response; null if line numbers have changed, so that the request is to be repeated. */
  async get(path, query) {
    const turn = this.turn;
    const parameters = new URLSearchParams({ ...query, start: this.parts[0]?.id ?? "" });
    try {
      const { data } = await ask("GET", `${this.url}${path}?${parameters}`);
      if (turn === this.turn) this.parts = data.parts;
      return data;
    } catch (problem) {
      if (problem.status !== 409) throw problem;
      if (turn === this.turn) await this.renumber();
      return null;
    }
  }

  /** Adapts to line numbers that have decreased. */
  async renumber() {
    const turn = (this.turn += 1);
    const { data } = await ask("GET", `${this.url}?limit=1`);
    if (turn !== this.turn) return;
    const at = this.parts.findIndex((part) => part.id === data.parts[0]?.id);
    const gone = at < 0 ? this.parts : this.parts.slice(0, at);
    const by = gone.reduce((sum, part) => sum + part.lines, 0);
    this.parts = data.parts;
    this.total = data.total;
    this.forget();
    this.isSearching = false;
    if (this.matches !== null) {
      this.matches = this.matches.map((number) => number - by).filter((number) => number > 0);
      this.searchedTo = Math.max(0, this.searchedTo - by);
    }
    this.shifted(by);
    if (this.matches !== null) await this.search(this.turn);
    this.changed();
  }

  reset() {
    this.forget();
    this.isSearching = false;
    if (this.matches !== null) this.matches = [];
    this.searchedTo = 0;
  }

  forget() {
    this.turn += 1;
    this.pages.clear();
    this.loading.clear();
  }
}

/** The first index in sorted numbers that is not below `number`. */
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
