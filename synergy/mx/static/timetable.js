// The page of a tree, up to where it can be seen: the jobs came with the page, and are painted
// before anything else is loaded. The rest is in timetable_page.js.

import { keepEarly } from "./timetable_early.js";
import { Grid } from "./timetable_grid.js";
import { TreeModel } from "./tree_model.js";

const page = document.getElementById("timetable");
const told = JSON.parse(document.getElementById("tree").textContent);
const tree = new TreeModel(told);
const ahead = Date.parse(told.now) - Date.now(); // milliseconds of MX's clock before that of this machine
const doEarly = keepEarly(page);
page.classList.add("is-live");
const grid = new Grid(document.getElementById("calendar"), tree, Date.parse(told.now));
if (page.dataset.at) grid.show(page.dataset.at);
performance.mark("timetable-painted");

requestAnimationFrame(() => setTimeout(async () => {
  const { TimetablePage } = await import("./timetable_page.js");
  new TimetablePage(tree, grid, ahead);
  doEarly();
}));
