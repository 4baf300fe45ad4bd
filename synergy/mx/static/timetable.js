// The first part of the page of a tree: paints the jobs, which are in the page, before anything else
// is loaded. The rest is in timetable_page.js.

import { EarlyActions } from "./timetable_early.js";
import { Grid } from "./timetable_grid.js";
import { keys } from "./timetable_keys.js";
import { pointer } from "./timetable_pointer.js";
import { TreeModel } from "./tree_model.js";

const page = document.getElementById("timetable");
const data = JSON.parse(document.getElementById("tree").textContent);
const tree = new TreeModel(data);
const ahead = Date.parse(data.now) - Date.now(); // milliseconds by which MX's clock is ahead of this machine's
page.classList.add("is-live");
const view = document.getElementById("calendar");
const grid = new Grid(view, tree, Date.parse(data.now));
const early = new EarlyActions(page, view);
keys(grid, early.actions);
pointer(grid, early.actions);
if (page.dataset.at) grid.show(page.dataset.at);
performance.mark("timetable-painted");

requestAnimationFrame(() => setTimeout(async () => {
  const { TimetablePage } = await import("./timetable_page.js");
  early.replay(new TimetablePage(tree, grid, ahead).actions());
}));
