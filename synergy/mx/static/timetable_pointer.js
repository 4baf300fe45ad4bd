// The calendar by mouse and finger: a click opens a job, dragging and Shift select a range.

const EDGE = 28; // pixels from the edge at which dragging scrolls

// `ask` offers choose(level, ordinal, isExtending, from), drag(level, from, to) and hover(cell or
// null).
export function pointer(grid, ask) {
  const { view } = grid;
  let drag = null;

  const periodAt = (x, y) => document.elementFromPoint(x, y)?.closest(".c")?.period ?? null;

  view.addEventListener("pointerdown", (event) => {
    const period = event.target.closest(".c")?.period;
    if (!period || event.button !== 0) return;
    if (event.shiftKey) event.preventDefault();
    else if (event.pointerType !== "touch") drag = { ...period, moved: false, x: event.clientX, y: event.clientY };
  });

  const follow = () => {
    const period = periodAt(drag.x, drag.y);
    if (!period || period.level !== drag.level) return;
    if (!drag.moved && period.ordinal === drag.ordinal) return;
    drag.moved = true;
    ask.drag(drag.level, drag.ordinal, period.ordinal);
  };

  const scroll = () => {
    if (!drag) return;
    const box = view.getBoundingClientRect();
    const above = box.top + grid.headHeight + EDGE - drag.y;
    const below = drag.y - (box.bottom - EDGE);
    if (drag.moved && (above > 0 || below > 0)) {
      view.scrollTop += above > 0 ? -above / 2 : below / 2;
      drag.y = Math.min(Math.max(drag.y, box.top + grid.headHeight + 2), box.bottom - 4);
      follow();
    }
    drag.frame = requestAnimationFrame(scroll);
  };

  document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.x = event.clientX;
    drag.y = event.clientY;
    follow();
    if (drag.moved && !drag.frame) scroll();
  });

  const end = () => {
    if (!drag) return;
    cancelAnimationFrame(drag.frame);
    const { moved } = drag;
    drag = null;
    if (moved) view.addEventListener("click", (event) => event.stopImmediatePropagation(), { capture: true, once: true });
    if (moved) setTimeout(() => view.dispatchEvent(new MouseEvent("click")));
  };
  document.addEventListener("pointerup", end);
  document.addEventListener("pointercancel", end);

  view.addEventListener("click", (event) => {
    const period = event.target.closest(".c")?.period;
    if (!period) return;
    ask.choose(period.level, period.ordinal, event.shiftKey, grid.focus);
  });

  view.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") ask.hover(event.target.closest(".c"));
  });
  view.addEventListener("pointerleave", () => ask.hover(null));
}
