// The dialog that confirms every change: reason, preview, progress.

import { ask, explain, newKey } from "./ask.js";
import { number } from "./dom.js";
import { followOperation } from "./operation.js";
import { preview, summary } from "./action_result.js";
import { toast } from "./toast.js";
import { twinOf } from "./replacement.js";
import { visible } from "./visible_text.js";

const $ = (id) => document.getElementById(id);

/**
 * Confirms a request, then sends it. `request`: {label, verb, method, path, body, confirm, preview,
 * needsReason, danger}, where `label` is the title and `verb` the text of the button, if different.
 * Resolves to the data of the response, or to null if it was canceled.
 */
export function perform(request) {
  const dialog = $("ask");
  const opener = document.activeElement;
  return new Promise((resolve) => {
    const state = { request, key: newKey(), sent: "", result: null };
    fill(dialog, state);
    const form = dialog.querySelector("form");
    form.onsubmit = (event) => {
      event.preventDefault();
      send(dialog, state);
    };
    dialog.onclose = () => {
      state.closed = true;
      form.onsubmit = null;
      restoreFocus(opener);
      resolve(state.result);
    };
    dialog.showModal();
    $("ask-reason").focus();
    if (request.preview) showPreview(state);
  });
}

function fill(dialog, { request }) {
  $("ask-title").textContent = request.label;
  $("ask-text").textContent = request.confirm ?? "";
  $("ask-text").hidden = !request.confirm;
  $("ask-reason").value = "";
  $("ask-reason").required = Boolean(request.needsReason);
  $("ask-hint").textContent = `Goes into the journal with your name. ${request.needsReason ? "Required." : "Optional."}`;
  const go = $("ask-go");
  go.textContent = request.verb || request.label;
  go.className = `btn ${request.danger ? "btn-danger" : "btn-primary"}`;
  go.disabled = Boolean(request.preview);
  go.hidden = false;
  $("ask-cancel").textContent = "Cancel";
  $("ask-preview").replaceChildren();
  $("ask-preview").hidden = !request.preview;
  $("ask-progress").hidden = true;
  $("ask-form").hidden = false;
  showProblem(null);
}

async function showPreview(state) {
  const { method, path, body } = state.request;
  $("ask-preview").textContent = "Checking what this would change…";
  try {
    const { data } = await ask(method, path, body, { dryRun: true });
    if (state.closed) return;
    $("ask-preview").replaceChildren(preview(data));
    $("ask-go").disabled = false;
  } catch (problem) {
    if (state.closed) return;
    $("ask-preview").hidden = true;
    showProblem(problem);
  }
}

async function send(dialog, state) {
  const { method, path, body, label } = state.request;
  const full = { ...body, reason: $("ask-reason").value.trim() };
  const text = JSON.stringify(full);
  if (state.sent && state.sent !== text) state.key = newKey(); // a changed request needs a new key
  state.sent = text;
  showProblem(null);
  $("ask-go").disabled = true;
  try {
    const response = await ask(method, path, full, { key: state.key });
    if (response.status === 202 && response.data?.id && response.data?.kind) {
      await follow(dialog, state, response);
    } else {
      state.result = response.data ?? {};
      toast(`${label}: ${summary(response.data)}`, "ok");
      finish(dialog, state);
    }
  } catch (problem) {
    if (problem.isRefusal) state.key = newKey(); // the next attempt is a new request
    if (state.closed) toast(`${label}: ${problem.detail ?? problem}`, "danger");
    else showProblem(problem);
  } finally {
    if (!state.closed) $("ask-go").disabled = false;
  }
}

async function follow(dialog, state, response) {
  const { label } = state.request;
  if (!state.closed) showFollowing();
  state.result = response.data;
  const operation = await followOperation(response, (at) => state.closed || showProgress(at));
  state.result = operation;
  toast(`${label}: done, ${number(operation.touched)} touched.`, "ok");
  finish(dialog, state);
}

/** Closes the dialog, unless it was closed meanwhile: it may be open for another request. */
function finish(dialog, state) {
  if (state.closed) document.dispatchEvent(new CustomEvent("synergy:behind", { detail: {} }));
  else dialog.close();
}

function showFollowing() {
  $("ask-form").hidden = true;
  $("ask-go").hidden = true;
  $("ask-cancel").textContent = "Close; it continues";
  $("ask-progress").hidden = false;
}

function showProgress({ done, total, detail }) {
  const bar = $("ask-bar");
  if (total) {
    bar.max = total;
    bar.value = done;
  } else bar.removeAttribute("value");
  $("ask-status").textContent = visible(detail || "") || (total ? `${number(done)} of ${number(total)}` : "Waiting to start…");
}

function showProblem(problem) {
  const box = $("ask-problem");
  box.hidden = problem === null;
  box.replaceChildren(...(problem === null ? [] : [explain({ ...problem, detail: problem.detail ?? problem.message })]));
}

/** Returns the focus to the element that opened the dialog, or to its replacement. */
function restoreFocus(opener) {
  if (opener?.isConnected) return opener.focus();
  ((opener?.dataset.api && twinOf(opener)) || $("main")).focus();
}
