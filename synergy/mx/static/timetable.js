// The page of a tree, up to where it can be seen: the jobs came with the page, and are painted
// before anything else is loaded. The rest is in timetable_page.js.

import { Early } from "./timetable_early.js";
import { Grid } from "./timetable_grid.js";
import { keys } from "./timetable_keys.js";
import { pointer } from "./timetable_pointer.js";
import { TreeModel } from "./tree_model.js";

const page = document.getElementById("timetable");
const told = JSON.parse(document.getElementById("tree").textContent);
const tree = new TreeModel(told);
const ahead = Date.parse(told.now) - Date.now(); // milliseconds of MX's clock before that of this machine
page.classList.add("is-live");
const view = document.getElementById("calendar");
const grid = new Grid(view, tree, Date.parse(told.now));
const early = new Early(page, view);
keys(grid, early.asks);
pointer(grid, early.asks);
if (page.dataset.at) grid.show(page.dataset.at);
performance.mark("timetable-painted");

requestAnimationFrame(() => setTimeout(async () => {
  const { TimetablePage } = await import("./timetable_page.js");
  early.end(new TimetablePage(tree, grid, ahead).asks());
}));
