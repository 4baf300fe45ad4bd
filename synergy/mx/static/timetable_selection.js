// The bar below the calendar: the selection and its actions. Before an action the calendar marks all
// jobs that it would touch, and the bar counts them.

import { ask, explain, newKey } from "./ask.js";
import { element, number } from "./dom.js";
import { followOperation } from "./operation.js";
import { toast } from "./toast.js";

const ACTIONS = {
  retry: {
    verb: "Try again", noun: "A retry", go: (jobs) => `Try ${jobs} again`, path: "/api/v1/jobs/retry", of: "failed",
    nothing: "Nothing to try again: none of these periods has failed.",
  },
  acknowledge: {
    verb: "Acknowledge", path: "/api/v1/jobs/acknowledge", of: "given_up", needsReason: true,
    nothing: "Nothing to acknowledge: none of these periods was given up.",
  },
  reprocess: { verb: "Reprocess", path: "/api/v1/jobs/reprocess", nothing: "Nothing to start over: none of these periods has begun." },
  skip: { verb: "Skip", path: "/api/v1/jobs/skip", nothing: "Nothing to skip: all of these periods are finished." },
};

export class Selection {
  // `changed` is called to repaint the calendar, `say` to announce a text to screen readers.
  constructor(bar, tree, changed, say) {
    this.bar = bar;
    this.tree = tree;
    this.changed = changed;
    this.say = say;
    this.range = null;
    this.anchor = null;
    this.touched = new Map();
    this.part = (name) => bar.querySelector(`[data-part="${name}"]`);
    for (const name of Object.keys(ACTIONS)) this.part(name).addEventListener("click", () => this.look(name));
    this.part("clear").addEventListener("click", () => this.clear());
    this.part("back").addEventListener("click", () => this.forget());
    this.part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.act();
    });
    bar.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
    });
  }

  // Classes for a cell.
  marks(level, ordinal) {
    let names = "";
    if (this.range?.level === level && ordinal >= this.range.from && ordinal <= this.range.to) names += " sel";
    if (this.touched.get(level)?.has(ordinal)) names += " touched";
    return names;
  }

  select(level, one, other) {
    this.anchor = { level, ordinal: one };
    const [from, to] = one < other ? [one, other] : [other, one];
    this.range = { level, from, to };
    this.forget(false);
    this.show();
  }

  // Selects from where the selection of this process began, or else from `from`, to another job.
  extend(from, level, ordinal) {
    const anchor = this.range && this.anchor.level === level ? this.anchor.ordinal : from;
    this.select(level, anchor, ordinal);
  }

  clear() {
    if (!this.range) return false;
    this.range = this.anchor = null;
    this.bar.hidden = true;
    this.forget(false);
    this.say("Nothing is selected.");
    this.changed();
    return true;
  }

  // The periods as the API and the command line take them: the end is not included.
  periods() {
    const { level, from, to } = this.range;
    return { process: level.name, from: level.timeperiod(from), to: level.timeperiod(to + 1) };
  }

  show() {
    const { level, from, to } = this.range;
    const found = level.counts(from, to);
    const counts = Object.entries(found).map(([word, count]) => `${number(count)} ${word.replace("_", " ")}`);
    const many = to - from + 1;
    const span = many === 1 ? level.timeperiod(from) : `${level.timeperiod(from)} to ${level.timeperiod(to)}`;
    const text = `${level.name}, ${span}, ${number(many)} period${many === 1 ? "" : "s"}: ${counts.join(", ")}`;
    const isNew = this.bar.hidden || this.part("summary").textContent !== text;
    this.part("summary").textContent = text;
    this.bar.hidden = false;
    const { process, from: first, to: end } = this.periods();
    for (const [name, { of, needsReason }] of Object.entries(ACTIONS)) {
      const copy = this.part(`copy-${name}`);
      copy.dataset.copy = `${document.body.dataset.program} timetable ${name} ${process} ${first}..${end}${needsReason ? " --reason '...'" : ""}`;
      copy.hidden = this.part(name).hidden = Boolean(of) && !found[of]; // impossible actions are not offered
    }
    if (isNew) this.say(`Selected: ${text}`);
    this.changed();
  }

  // Updates the counts after a change of the data.
  refresh() {
    if (this.range && this.part("form").hidden) this.show();
  }

  // Leaves the preview of an action; the selection stays.
  forget(paint = true) {
    this.asked = null;
    this.touched = new Map();
    this.part("form").hidden = true;
    this.part("choose").hidden = false;
    if (paint) this.changed();
  }

  // Requests and shows what an action would touch.
  async look(name) {
    const asked = { name, body: this.periods(), key: newKey() };
    this.asked = asked;
    this.part("problem").hidden = true;
    try {
      const { data } = await ask("POST", ACTIONS[name].path, asked.body, { dryRun: true });
      if (this.asked === asked) this.preview(data);
    } catch (problem) {
      if (this.asked === asked) this.fail(problem);
    }
  }

  preview(data) {
    const { verb, noun = verb, go = (jobs) => `${verb} ${jobs}`, nothing, needsReason } = ACTIONS[this.asked.name];
    for (const { process, timeperiod } of data.touched) {
      const level = this.tree.byName.get(process);
      if (!level) continue;
      if (!this.touched.has(level)) this.touched.set(level, new Set());
      this.touched.get(level).add(level.ordinal(timeperiod));
    }
    const names = new Set([...this.tree.byName.keys(), ...Object.keys(data.processes)]);
    const counts = [...names].filter((name) => data.processes[name]).map((name) => [name, data.processes[name]]);
    this.part("cascade").replaceChildren(...counts.map(([process, count]) => this.line(process, count)));
    this.part("partly").hidden = data.touched.length === data.count;
    this.part("partly").textContent = `The calendar marks the first ${number(data.touched.length)} of them.`;
    const words = data.count ? `${noun} touches ${jobs(data.count)}` : nothing;
    this.part("cascade-summary").textContent = data.count ? `${words}:` : words;
    this.part("go").textContent = data.count ? go(jobs(data.count)) : verb;
    this.part("go").disabled = !data.count;
    this.part("go").classList.toggle("btn-danger", this.asked.name === "skip");
    this.part("go").classList.toggle("btn-primary", this.asked.name !== "skip");
    this.part("choose").hidden = true;
    this.part("form").hidden = false;
    this.part("progress").hidden = true;
    this.part("reason").required = Boolean(needsReason);
    this.part("reason").focus();
    this.say(`${words}. ${counts.map(([process, count]) => `${process} ${number(count)}`).join(", ")}`);
    this.changed();
  }

  line(process, count) {
    const line = element("li", "", {});
    line.append(element("b", "", {}, number(count)), ` ${process}`);
    if (!this.tree.byName.has(process)) line.append(element("span", "muted", {}, " (another tree)"));
    return line;
  }

  async act() {
    const { asked } = this;
    const { name, body, key } = asked;
    const isShown = () => this.asked === asked; // false once the bar shows something else
    const { verb, path } = ACTIONS[name];
    const go = this.part("go");
    go.disabled = true;
    this.part("problem").hidden = true;
    try {
      const response = await ask("POST", path, { ...body, reason: this.part("reason").value.trim() }, { key });
      const count = response.status === 202
        ? (await followOperation(response, (operation) => isShown() && this.progress(operation))).touched
        : response.data.count;
      toast(`${verb}: ${jobs(count)}.`, "ok");
      if (!isShown()) return;
      this.part("reason").value = "";
      this.forget();
      this.show();
    } catch (problem) {
      if (problem.isRefusal) asked.key = newKey(); // the next attempt is a new request
      if (!isShown()) return toast(`${verb}: ${problem.detail ?? problem.message}`, "danger");
      this.fail(problem);
      go.disabled = false;
    }
  }

  progress({ done, total }) {
    const bar = this.part("progress");
    bar.hidden = false;
    if (!total) return bar.removeAttribute("value");
    bar.max = total;
    bar.value = done;
  }

  fail(problem) {
    const box = this.part("problem");
    box.replaceChildren(explain(problem));
    box.hidden = false;
  }
}

const jobs = (count) => `${number(count)} job${count === 1 ? "" : "s"}`;
