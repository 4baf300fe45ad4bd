// Keeps the jobs of a tree true: takes in what happens, and reads again what is not told.

import { ask, listen } from "./app.js";

const TAIL = 60000; // milliseconds after which the newest periods are asked for again
const FLASH = 900; // milliseconds
const MOST_FAILING = 1000; // failed units that are looked for, of each process

export class Live {
  // `path` is the tree's in the API; `changed` is called after each change.
  constructor(tree, path, changed) {
    this.tree = tree;
    this.path = path;
    this.changed = changed;
    this.flashes = new Map(); // level -> [first, last]
    this.readings = new Set(); // each with what was told since it began
    this.isBehind = false; // all is to be read again, which did not go well so far
  }

  start() {
    for (const noun of ["job", "unit"]) document.addEventListener(`synergy:${noun}`, (event) => this.take(event.detail));
    for (const noun of ["behind", "timetable"]) document.addEventListener(`synergy:${noun}`, () => this.readAll().catch(unheard));
    document.addEventListener("visibilitychange", () => this.readTail().catch(unheard));
    setInterval(() => this.readTail().catch(unheard), TAIL);
    listen();
    this.findFailing().catch(() => (this.isBehind = true));
  }

  // Whether a job changed just now.
  isNew(level, ordinal) {
    const flash = this.flashes.get(level);
    return flash !== undefined && ordinal >= flash[0] && ordinal <= flash[1];
  }

  take(entry) {
    for (const reading of this.readings) reading.told.push(entry);
    const changed = this.tree.apply(entry);
    if (!changed) return;
    const [level, first, last] = changed;
    const known = this.flashes.get(level);
    this.flashes.set(level, known ? [Math.min(known[0], first), Math.max(known[1], last)] : [first, last]);
    this.calming ??= setTimeout(() => this.calm(), FLASH);
    this.changed();
  }

  calm() {
    this.calming = null;
    this.flashes.clear();
    this.changed();
  }

  // Everything, after more than was told one by one.
  async readAll() {
    this.isBehind = true;
    for (const reading of this.readings) reading.isOvertaken = true; // it may not know what was not told
    const known = (told) => this.tree.byName.get(told.name);
    await this.read({}, (data) => {
      const begins = data.processes.every((told) => known(told)?.timeperiod(known(told).first) === told.first);
      if (!begins) location.reload(); // the timetable was extended, or is another one
      return begins;
    });
    await this.findFailing();
    this.isBehind = false;
  }

  // The periods that have begun, and what has become late meanwhile.
  async readTail() {
    if (document.hidden) return;
    if (this.isBehind) return this.readAll();
    await this.read({ from: this.tree.finest.timeperiod(this.tree.finest.end - 1) });
  }

  // Takes in what MX answers of the jobs.
  read(query, isWanted = () => true) {
    return this.hold(async (reading) => {
      const { data } = await ask("GET", this.path, query);
      if (!reading.isOvertaken && isWanted(data)) this.tree.take(data);
    });
  }

  // What happens while something is read may be newer than the answer, so it is taken in once more
  // after it.
  async hold(reads) {
    const reading = { told: [], isOvertaken: false };
    this.readings.add(reading);
    try {
      await reads(reading);
      if (reading.isOvertaken) return;
      for (const entry of reading.told) this.tree.apply(entry);
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

// MX does not answer just now: the mark beside the name of the page says so, and what was missed is
// read again as soon as it does.
function unheard() {}
