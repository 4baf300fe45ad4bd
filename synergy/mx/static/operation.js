// Operations: work that continues after the response.

import { ask, Problem } from "./ask.js";

const POLL_MS = 700;

/** Waits for the end of the operation in a 202 response and returns it; throws Problem if it failed.
 *
 * Failed polls are repeated: the operation continues while MX is unreachable.
 */
export async function followOperation({ data, location: place }, onProgress) {
  const path = place ?? `/api/v1/operations/${data.id}`;
  let operation = data;
  while (operation.state === "accepted" || operation.state === "running") {
    onProgress(operation);
    await new Promise((done) => setTimeout(done, POLL_MS));
    operation = await poll(path) ?? operation;
  }
  if (operation.state === "failed") throw new Problem(409, operation.detail || "it failed.");
  return operation;
}

async function poll(path) {
  try {
    return (await ask("GET", path)).data;
  } catch (problem) {
    if (problem.isRefusal) throw new Error(problem.detail); // the poll was refused, not the operation
    return null;
  }
}
