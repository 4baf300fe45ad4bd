// Keeps the jobs of a tree current: applies events, and reloads what events do not cover.

import { ask, listen } from "./app.js";

const TAIL_MS = 60000; // between two reloads of the newest periods
const FLASH_MS = 900;
const MOST_FAILING = 1000; // failed units to load, of each process

export class Live {
  // `path` is the tree in the API; `changed` is called after each change.
  constructor(tree, path, changed) {
    this.tree = tree;
    this.path = path;
    this.changed = changed;
    this.flashes = new Map(); // level -> [first, last]
    this.readings = new Set(); // each with the events since it began
    this.isBehind = false; // whether everything has to be reloaded
  }

  start() {
    for (const noun of ["job", "unit"]) document.addEventListener(`synergy:${noun}`, (event) => this.take(event.detail));
    for (const noun of ["behind", "timetable"]) document.addEventListener(`synergy:${noun}`, () => this.readAll().catch(ignore));
    document.addEventListener("visibilitychange", () => this.readTail().catch(ignore));
    setInterval(() => this.readTail().catch(ignore), TAIL_MS);
    listen();
    this.findFailing().catch(() => (this.isBehind = true));
  }

  // Whether a job changed just now.
  isNew(level, ordinal) {
    const flash = this.flashes.get(level);
    return flash !== undefined && ordinal >= flash[0] && ordinal <= flash[1];
  }

  take(entry) {
    for (const reading of this.readings) reading.events.push(entry);
    const changed = this.tree.apply(entry);
    if (!changed) return;
    const [level, first, last] = changed;
    const known = this.flashes.get(level);
    this.flashes.set(level, known ? [Math.min(known[0], first), Math.max(known[1], last)] : [first, last]);
    this.calming ??= setTimeout(() => this.calm(), FLASH_MS);
    this.changed();
  }

  calm() {
    this.calming = null;
    this.flashes.clear();
    this.changed();
  }

  // Reloads everything, after more events than are sent one by one.
  async readAll() {
    this.isBehind = true;
    for (const reading of this.readings) reading.isOvertaken = true; // it may lack events
    const known = (process) => this.tree.byName.get(process.name);
    await this.read({}, (data) => {
      const begins = data.processes.every((process) => known(process)?.timeperiod(known(process).first) === process.first);
      if (!begins) location.reload(); // the timetable was extended or replaced
      return begins;
    });
    await this.findFailing();
    this.isBehind = false;
  }

  // Reloads the newest periods, and the bound of late ones.
  async readTail() {
    if (document.hidden) return;
    if (this.isBehind) return this.readAll();
    await this.read({ from: this.tree.finest.timeperiod(this.tree.finest.end - 1) });
  }

  // Loads jobs of the tree.
  read(query, isWanted = () => true) {
    return this.hold(async (reading) => {
      const { data } = await ask("GET", this.path, query);
      if (!reading.isOvertaken && isWanted(data)) this.tree.take(data);
    });
  }

  // Events that arrive during a request may be newer than its response, so they are applied again
  // after it.
  async hold(reads) {
    const reading = { events: [], isOvertaken: false };
    this.readings.add(reading);
    try {
      await reads(reading);
      if (reading.isOvertaken) return;
      for (const entry of reading.events) this.tree.apply(entry);
      this.changed();
    } finally {
      this.readings.delete(reading);
    }
  }

  findFailing() {
    return this.hold(async (reading) => {
      for (const level of this.tree.levels) {
        const { data } = await ask("GET", "/api/v1/units", { process: level.name, state: "invalid", limit: MOST_FAILING });
        if (reading.isOvertaken) return;
        level.failing = new Set(data.items.map((unit) => level.ordinal(unit.timeperiod)));
      }
    });
  }
}

// MX does not respond: the indicator in the header shows it, and missed changes are reloaded later.
function ignore() {}
