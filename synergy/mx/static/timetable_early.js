// Keeps the user's actions until all scripts are loaded, and then repeats them in order.

const ACTIONS = ["open", "choose", "extend", "drag", "clear", "problem", "announce"];

export class EarlyActions {
  // `view` is the calendar in `page`; its own listeners exist from the start, and call `actions`.
  constructor(page, view) {
    this.page = page;
    this.view = view;
    this.kept = [];
    this.actions = { hover() {} };
    for (const name of ACTIONS) this.actions[name] = (...given) => this.kept.push(() => this.actions[name](...given));
    this.keep = (event) => this.keepEvent(event);
    for (const type of ["click", "submit"]) page.addEventListener(type, this.keep);
  }

  keepEvent(event) {
    if (this.view.contains(event.target)) return;
    const link = event.target.closest("a");
    if (link && (!link.dataset.at || event.ctrlKey || event.metaKey || event.shiftKey)) return;
    if (link || event.type === "submit") event.preventDefault();
    this.kept.push(() => event.target.dispatchEvent(event));
  }

  // Repeats the kept actions with the real `actions`, and uses these from now on.
  replay(actions) {
    Object.assign(this.actions, actions);
    const stop = (event) => event.stopPropagation(); // listeners outside the page handled these events when they occurred
    for (const type of ["click", "submit"]) {
      this.page.removeEventListener(type, this.keep);
      this.page.addEventListener(type, stop);
    }
    for (const repeat of this.kept) repeat();
    for (const type of ["click", "submit"]) this.page.removeEventListener(type, stop);
  }
}
