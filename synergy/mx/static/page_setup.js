// Event handlers of all pages: actions, copy buttons, scrolling tables; and the start of other parts.

import { perform } from "./dialog.js";
import { startKeys } from "./keys.js";
import { listenIfNeeded } from "./live.js";
import { reload } from "./live_parts.js";
import { startTimes } from "./times.js";
import { toast } from "./toast.js";
import { startUse } from "./use.js";

/* Actions: any element with data-api, a button or a form */

function requestOf(element, body) {
  const { api, method, label, verb, confirm } = element.dataset;
  const text = (element.querySelector("[type=submit]") ?? element).textContent.trim();
  return {
    label: label || text || "Do it",
    verb: verb || text,
    method: method || "POST",
    path: api,
    body,
    confirm,
    preview: "preview" in element.dataset,
    needsReason: "needsReason" in element.dataset,
    danger: element.classList.contains("btn-danger"),
  };
}

async function act(element, body) {
  const done = element.dataset.done || "reload";
  const result = await perform(requestOf(element, body));
  if (result !== null) finish(done, result);
}

function finish(done, result) {
  const at = done.indexOf(":");
  const [what, rest] = at < 0 ? [done, ""] : [done.slice(0, at), done.slice(at + 1)];
  if (what === "refresh") document.querySelectorAll(rest).forEach(reload);
  else if (what === "goto") location.assign(rest);
  else if (what === "reload") location.reload();
  document.dispatchEvent(new CustomEvent("synergy:done", { detail: result }));
}

/** The fields of a form as a body: numbers and booleans as such, empty fields left out. */
function bodyOf(form) {
  const body = JSON.parse(form.dataset.body || "{}");
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    if (field.type === "checkbox") body[field.name] = field.checked;
    else if (field.type === "radio" && !field.checked) continue;
    else if (field.value !== "") body[field.name] = field.type === "number" ? field.valueAsNumber : field.value;
  }
  return body;
}

document.addEventListener("click", (event) => {
  const { target } = event;
  const action = target.closest("[data-api]:not(form)");
  if (action) act(action, JSON.parse(action.dataset.body || "{}"));
  const copyButton = target.closest("[data-copy]");
  if (copyButton) copy(copyButton);
  if (target.closest("[data-close]")) target.closest("dialog").close();
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-api]");
  if (!form) return;
  event.preventDefault();
  act(form, bodyOf(form));
});

async function copy(button) {
  const was = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = was), 1500);
  } catch {
    toast("The browser blocked the clipboard: select the text and copy it yourself.", "danger");
  }
}

/* Wide tables can be scrolled with the keyboard */

function makeScrollable() {
  for (const wrap of document.querySelectorAll(".table-wrap")) {
    const isWide = wrap.scrollWidth > wrap.clientWidth + 1;
    if (!isWide) {
      wrap.removeAttribute("tabindex");
      continue;
    }
    wrap.tabIndex = 0;
    wrap.setAttribute("role", "region");
    if (!wrap.hasAttribute("aria-label")) {
      const name = wrap.querySelector("caption") ?? wrap.closest("section")?.querySelector("h1, h2, h3");
      const words = name?.textContent.trim();
      wrap.setAttribute("aria-label", words ? `${words}, as a table` : "Table"); // the section itself has this name
    }
  }
}

addEventListener("resize", makeScrollable);
document.addEventListener("htmx:afterSwap", makeScrollable);
startTimes();
startKeys();
startUse();
makeScrollable();
document.addEventListener("DOMContentLoaded", listenIfNeeded); // all scripts of the page listen by then
document.querySelector("nav [aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "center" });
