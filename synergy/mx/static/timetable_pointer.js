// The calendar by mouse and finger: a click opens a job, dragging and Shift select a range.

const EDGE = 28; // pixels from the edge at which dragging scrolls

// `actions`: choose(level, ordinal, isExtending, from), drag(level, from, to), hover(cell or null).
export function pointer(grid, actions) {
  const { view } = grid;
  new Dragging(grid, actions);
  view.addEventListener("click", (event) => {
    const period = event.target.closest(".c")?.period;
    if (period) actions.choose(period.level, period.ordinal, event.shiftKey, grid.focus);
  });
  view.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") actions.hover(event.target.closest(".c"));
  });
  view.addEventListener("pointerleave", () => actions.hover(null));
}

class Dragging {
  constructor(grid, actions) {
    this.grid = grid;
    this.actions = actions;
    this.drag = null; // the first job, the position, and whether another job was reached
    grid.view.addEventListener("pointerdown", (event) => this.begin(event));
    document.addEventListener("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, () => this.end());
  }

  begin(event) {
    const period = event.target.closest(".c")?.period;
    if (!period || event.button !== 0) return;
    if (event.shiftKey) event.preventDefault();
    else if (event.pointerType !== "touch") this.drag = { ...period, moved: false, x: event.clientX, y: event.clientY };
  }

  move(event) {
    const { drag } = this;
    if (!drag) return;
    drag.x = event.clientX;
    drag.y = event.clientY;
    this.follow();
    if (drag.moved && !drag.frame) this.scroll();
  }

  follow() {
    const { drag } = this;
    const period = document.elementFromPoint(drag.x, drag.y)?.closest(".c")?.period;
    if (!period || period.level !== drag.level) return;
    if (!drag.moved && period.ordinal === drag.ordinal) return;
    drag.moved = true;
    this.actions.drag(drag.level, drag.ordinal, period.ordinal);
  }

  // Scrolls in each frame while the pointer is near an edge.
  scroll() {
    const { drag, grid } = this;
    if (!drag) return;
    const box = grid.view.getBoundingClientRect();
    const above = box.top + grid.headHeight + EDGE - drag.y;
    const below = drag.y - (box.bottom - EDGE);
    if (drag.moved && (above > 0 || below > 0)) {
      grid.view.scrollTop += above > 0 ? -above / 2 : below / 2;
      drag.y = Math.min(Math.max(drag.y, box.top + grid.headHeight + 2), box.bottom - 4);
      this.follow();
    }
    drag.frame = requestAnimationFrame(() => this.scroll());
  }

  end() {
    const { drag, grid: { view } } = this;
    if (!drag) return;
    cancelAnimationFrame(drag.frame);
    this.drag = null;
    if (!drag.moved) return;
    // The click that ends a drag must not open a job; where the browser sends none, this one is caught.
    view.addEventListener("click", (event) => event.stopImmediatePropagation(), { capture: true, once: true });
    setTimeout(() => view.dispatchEvent(new MouseEvent("click")));
  }
}
