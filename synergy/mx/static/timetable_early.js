// Clicks and keys on what is seen already, but hears only later, when its scripts are loaded.

const TYPES = ["click", "keydown"];

// Keeps them from now on. Returns a function that has them heard once more, and keeps no others.
export function keepEarly(place) {
  const kept = [];
  const keep = (event) => kept.push(event);
  for (const type of TYPES) place.addEventListener(type, keep);
  return () => {
    for (const type of TYPES) {
      place.removeEventListener(type, keep);
      place.addEventListener(type, stop); // what is around the place has heard them already
    }
    for (const event of kept) event.target.dispatchEvent(event);
    for (const type of TYPES) place.removeEventListener(type, stop);
  };
}

const stop = (event) => event.stopPropagation();
