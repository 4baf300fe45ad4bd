// Work that goes on after the answer: followed until it ends.

import { ask } from "./ask.js";

const EVERY = 700; // milliseconds

/** Follows the operation of a 202 to its end and returns it; throws what it failed with. */
export async function followed({ data, location: place }, onProgress) {
  const path = place ?? `/api/v1/operations/${data.id}`;
  let operation = data;
  while (operation.state === "accepted" || operation.state === "running") {
    onProgress(operation);
    await new Promise((done) => setTimeout(done, EVERY));
    operation = (await ask("GET", path)).data;
  }
  if (operation.state === "failed") throw new Error(operation.detail || "it failed.");
  return operation;
}
