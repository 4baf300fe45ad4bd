// Tells MX, with the next request of a live part, that the user is active. Live parts also send requests
// by themselves; these alone keep no session alive.

const SIGNS = ["keydown", "pointerdown", "wheel"];

let isUsed = false;

export function startUse() {
  for (const sign of SIGNS) addEventListener(sign, () => (isUsed = true), { capture: true, passive: true });
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (isUsed) detail.headers["X-Synergy-Used"] = "1";
    isUsed = false;
  });
}
