// Light or dark: as the system has it, until somebody says otherwise on this device.

const KEY = "sojourn-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const current = () => localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light");

function apply() {
  document.documentElement.dataset.theme = current();
}

export function toggle() {
  localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
  apply();
}

export function begin() {
  apply();
  dark.addEventListener("change", apply);
  document.getElementById("theme").addEventListener("click", toggle);
}
