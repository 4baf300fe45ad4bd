// The script of every page: actions with a reason, live parts, times, keys.
// Pages' own modules import `ask`, `Problem`, `perform`, `toast` and `listen` from here.

export { ask, explain, Problem } from "./ask.js";
export { perform } from "./dialog.js";
export { listen } from "./live.js";
export { toast } from "./toast.js";
export { refreshTimes } from "./times.js";

import "./page_setup.js";
