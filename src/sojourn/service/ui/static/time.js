// The service's time, which may be virtual: then it stands still between two answers.

let offset = 0;
let standing = null;

export function heard(now_ms, isManual) {
  offset = now_ms - Date.now();
  standing = isManual ? now_ms : null;
}

export const now = () => (standing === null ? Date.now() + offset : standing);
export const isManual = () => standing !== null;

// Call something now and again, as long as an element is on the page.
export function every(ms, element, call) {
  const timer = setInterval(() => {
    if (!element.isConnected) clearInterval(timer);
    else if (!document.hidden) call();
  }, ms);
  return () => clearInterval(timer);
}

export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
