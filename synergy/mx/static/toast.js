// Short messages that go away by themselves; errors stay until they are closed.

const STAYS = 6000; // milliseconds

/** Says something in the corner, and to screen readers. `kind`: "ok", "danger" or "". */
export function toast(text, kind = "") {
  const box = document.createElement("div");
  box.className = `toast toast-${kind || "plain"}`;
  const words = document.createElement("p");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "btn btn-small";
  close.textContent = "Close";
  close.addEventListener("click", () => box.remove());
  box.append(words, close);
  document.getElementById("toasts").append(box);
  if (kind !== "danger") setTimeout(() => box.remove(), STAYS);
  return box;
}
