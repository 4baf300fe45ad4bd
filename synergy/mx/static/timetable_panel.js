// The side panel of a job: a part that the server renders, and the address that names it.

import { element } from "./dom.js";

export class Panel {
  // `closed` is called when the user closes the panel.
  constructor(aside, closed) {
    this.aside = aside;
    this.shown = "";
    aside.addEventListener("click", (event) => {
      if (event.target.closest("[data-panel-close]")) closed();
    });
    aside.addEventListener("keydown", (event) => {
      if (event.key === "Escape") closed();
    });
  }

  get isOpen() { return !this.aside.hidden; }

  // Shows a job; `focus` moves the focus there.
  async open(process, timeperiod, focus = false) {
    const name = `${process}/${timeperiod}`;
    history.replaceState(null, "", `#${name}`);
    this.shown = name;
    if (this.aside.hidden) this.aside.replaceChildren(element("p", "muted", {}, "Loading…"));
    this.aside.hidden = false;
    this.aside.parentElement.classList.add("has-panel");
    this.release();
    const path = `/jobs/${encodeURIComponent(process)}/${timeperiod}`;
    htmx.trigger(this.aside, "htmx:abort"); // otherwise it would wait for the response about another job
    const request = htmx.ajax("GET", `${path}?panel=1`, { source: this.aside, target: this.aside, swap: "innerHTML" });
    await request.catch(() => {}); // live_parts.js reports it
    if (this.shown === name && this.aside.querySelector("h2 a")?.getAttribute("href") !== path) this.showFailure(name);
    if (focus && this.shown === name) this.aside.querySelector("h2")?.focus();
  }

  // Drops selection and focus in the previous job: live_parts.js does not replace what is in use.
  release() {
    const chosen = getSelection();
    if (this.aside.contains(chosen?.anchorNode ?? null)) chosen.removeAllRanges();
    if (this.aside.contains(document.activeElement)) document.activeElement.blur();
  }

  // Replaces the previous job, which must not stand for one that could not be loaded.
  showFailure(name) {
    const words = `MX did not respond for ${name}: select it again in a moment.`;
    const close = element("button", "btn btn-small", { type: "button", "data-panel-close": "" }, "Close");
    this.aside.replaceChildren(element("p", "muted", {}, words), close);
  }

  close() {
    this.shown = "";
    this.aside.hidden = true;
    this.aside.parentElement.classList.remove("has-panel");
    this.aside.replaceChildren();
    history.replaceState(null, "", location.pathname + location.search);
  }

  // The job that the address names: [process, timeperiod], or null.
  static named() {
    const found = /^#([^/]+)\/(\d{10})$/.exec(decodeURIComponent(location.hash));
    return found && found.slice(1);
  }
}
