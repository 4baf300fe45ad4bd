// Keys: "?" shows them all, "g" and a letter go to a page, "/" goes to the filters.

const SEQUENCE_MS = 1200; // between "g" and the letter

let since = -Infinity;

const isTyping = (target) =>
  target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]");

function pageFor(letter) {
  return document.querySelector(`nav a[data-key="${CSS.escape(letter)}"]`)?.href;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const follows = event.timeStamp - since < SEQUENCE_MS;
  since = -Infinity;
  if (follows) {
    const href = pageFor(event.key);
    if (href) location.assign(href);
  } else if (event.key === "g") {
    since = event.timeStamp;
  } else if (event.key === "?") {
    event.preventDefault();
    document.getElementById("keys").showModal();
  } else if (event.key === "/") {
    const field = document.querySelector("main .toolbar :is(input:not([type=hidden]), select)");
    if (!field) return;
    event.preventDefault();
    field.focus();
  }
}

export function startKeys() {
  document.addEventListener("keydown", press);
}
