// Actions of the user before all scripts are loaded: they are kept, and done in their order then.

const ACTIONS = ["open", "choose", "extend", "drag", "clear", "problem", "announce"];

export class Early {
  // `place` is the page, `view` the calendar in it, whose listeners exist from the start.
  constructor(place, view) {
    this.place = place;
    this.view = view;
    this.kept = [];
    this.actions = { hover() {} };
    for (const name of ACTIONS) this.actions[name] = (...given) => this.kept.push(() => this.actions[name](...given));
    this.keep = (event) => this.keepEvent(event);
    for (const type of ["click", "submit"]) place.addEventListener(type, this.keep);
  }

  keepEvent(event) {
    if (this.view.contains(event.target)) return;
    const link = event.target.closest("a");
    if (link && (!link.dataset.at || event.ctrlKey || event.metaKey || event.shiftKey)) return;
    if (link || event.type === "submit") event.preventDefault();
    this.kept.push(() => event.target.dispatchEvent(event));
  }

  // Uses these actions from now on, first for what was kept.
  end(actions) {
    Object.assign(this.actions, actions);
    const stop = (event) => event.stopPropagation(); // listeners outside the page have handled them already
    for (const type of ["click", "submit"]) {
      this.place.removeEventListener(type, this.keep);
      this.place.addEventListener(type, stop);
    }
    for (const repeat of this.kept) repeat();
    for (const type of ["click", "submit"]) this.place.removeEventListener(type, stop);
  }
}
