// Short messages that disappear by themselves; errors stay until they are closed.

import { element } from "./dom.js";

const SHOWN_MS = 6000;

/** Shows a message in the corner, also for screen readers. `kind`: "ok", "danger" or "". */
export function toast(text, kind = "") {
  const close = element("button", "btn btn-small", { type: "button" }, "Close");
  const box = element("div", `toast toast-${kind || "plain"}`, {}, element("p", "", {}, text), close);
  close.addEventListener("click", () => box.remove());
  document.getElementById("toasts").append(box);
  if (kind !== "danger") setTimeout(() => box.remove(), SHOWN_MS);
  return box;
}
