// What people ask of the page before its scripts are loaded: it is kept, and done in that order
// when they are.

const ASKS = ["open", "choose", "extend", "drag", "clear", "problem", "said"];

export class Early {
  // `place` is the page, `view` the calendar in it, which has its own listeners from the start.
  constructor(place, view) {
    this.place = place;
    this.view = view;
    this.kept = [];
    this.asks = { hover() {} };
    for (const name of ASKS) this.asks[name] = (...given) => this.kept.push(() => this.asks[name](...given));
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

  // From now on these are asked, first for what was kept.
  end(asks) {
    Object.assign(this.asks, asks);
    const stop = (event) => event.stopPropagation(); // what is around the page has heard them already
    for (const type of ["click", "submit"]) {
      this.place.removeEventListener(type, this.keep);
      this.place.addEventListener(type, stop);
    }
    for (const does of this.kept) does();
    for (const type of ["click", "submit"]) this.place.removeEventListener(type, stop);
  }
}
