// The tooltip of a cell.

import * as cal from "./calendar.js";
import { element } from "./dom.js";
import { describe } from "./timetable_cells.js";

const tip = document.getElementById("calendar-tip");

// Shows the tooltip of a cell; null hides it.
export function showTip(cell) {
  const period = cell?.period;
  tip.hidden = !period;
  if (!period) return;
  const [name, state] = describe(period.level, period.ordinal).split(": ");
  tip.replaceChildren(element("b", "", {}, cal.words(period.level.qualifier, period.ordinal)), element("span", "", {}, state), element("span", "muted", {}, name));
  const box = cell.getBoundingClientRect();
  const width = tip.offsetWidth;
  const left = Math.min(Math.max(box.left + box.width / 2 - width / 2, 8), innerWidth - width - 8);
  const below = box.top < 120;
  tip.style.left = `${left}px`;
  tip.style.top = below ? `${Math.min(box.bottom, innerHeight - 90) + 6}px` : `${box.top - tip.offsetHeight - 6}px`;
}
