// Work that goes on after the answer: followed until it ends.

import { ask, Problem } from "./ask.js";

const EVERY = 700; // milliseconds

/** Follows the operation of a 202 to its end and returns it; throws what it failed with.
 *
 * It goes on whether or not anybody can look just now.
 */
export async function followed({ data, location: place }, onProgress) {
  const path = place ?? `/api/v1/operations/${data.id}`;
  let operation = data;
  while (operation.state === "accepted" || operation.state === "running") {
    onProgress(operation);
    await new Promise((done) => setTimeout(done, EVERY));
    operation = await look(path) ?? operation;
  }
  if (operation.state === "failed") throw new Problem(409, operation.detail || "it failed.");
  return operation;
}

async function look(path) {
  try {
    return (await ask("GET", path)).data;
  } catch (problem) {
    if (problem.isRefusal) throw new Error(problem.detail); // of the look, not of what was asked for
    return null;
  }
}
