// The replacement of an element that was swapped out: the element with the same action or link. For a
// switch it is the switch of the same thing, although its action is now the opposite one.

export function twinOf(gone) {
  const { api, method, body } = gone.dataset;
  const place = api ? `[data-api="${CSS.escape(api)}"]` : `main [href="${CSS.escape(gone.getAttribute("href") ?? "")}"]`;
  const words = gone.textContent.trim();
  const isSwitch = gone.matches("[role=switch]");
  const isSame = (one) => one.dataset.body === body && one.textContent.trim() === words;
  const isTwin = (one) => one.dataset.method === method && (isSwitch ? one.matches("[role=switch]") : isSame(one));
  return [...document.querySelectorAll(place)].find(isTwin) ?? null;
}
