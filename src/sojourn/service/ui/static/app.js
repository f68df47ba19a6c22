// The page: which panel is shown, the line to the service, keys and theme.

import * as api from "./api.js";
import { put, say } from "./dom.js";
import { askForToken, help, refused } from "./dialogs.js";
import * as f from "./format.js";
import * as time from "./time.js";
import * as theme from "./theme.js";
import * as nowPanel from "./now.js";
import * as waits from "./waits.js";
import * as rules from "./rules.js";
import * as incidents from "./incidents.js";
import * as webhooks from "./webhooks.js";
import { told } from "./news.js";

const PANELS = { now: nowPanel, waits, rules, incidents, webhooks };
const panel = document.getElementById("panel");
function show() {
  const [, name = "now", ...rest] = location.hash.split("/");
  const chosen = PANELS[name] ? name : "now";
  for (const tab of document.querySelectorAll("[data-panel]")) {
    if (tab.dataset.panel === chosen) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (panel.dataset.shown === chosen && PANELS[chosen].moved) {
    PANELS[chosen].moved(rest.map(decodeURIComponent));
    return;
  }
  panel.dataset.shown = chosen;
  document.title = `${chosen[0].toUpperCase()}${chosen.slice(1)} · Sojourn`;
  put(panel, PANELS[chosen].panel(rest.map(decodeURIComponent)));
  window.scrollTo(0, 0);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const places = Object.keys(PANELS);
  if (/^[1-5]$/.test(event.key)) location.hash = `#/${places[Number(event.key) - 1]}`;
  else if (event.key === "t") theme.toggle();
  else if (event.key === "?") help();
  else if (event.key === "/") {
    event.preventDefault();
    if (panel.dataset.shown !== "waits") location.hash = "#/waits";
    setTimeout(() => document.getElementById("search")?.focus());
  } else if (event.key === "Escape" && location.hash.startsWith("#/waits/")) location.hash = "#/waits";
}

function online(isOn) {
  const live = document.getElementById("live");
  live.classList.toggle("on", isOn);
  say(live.querySelector("b"), isOn ? (time.isManual() ? "virtual time" : "live") : "not connected");
}

function reached(isReached) {
  const banner = document.getElementById("banner");
  if (banner.hidden !== isReached) {
    banner.hidden = isReached;
    say(banner, isReached ? "" : "The service cannot be reached. What is shown is as of then; it is tried again.");
  }
}

async function begin() {
  api.onTokenNeeded(askForToken);
  api.onReach(reached);
  theme.begin();
  document.addEventListener("keydown", keys);
  addEventListener("hashchange", show);
  let last = 0;
  for (;;) {
    try {
      const first = await api.get("v1/now?within=1h");
      time.heard(first.now_ms, first.is_manual);
      last = first.last_number;
      break;
    } catch (error) {
      online(false);
      if (panel.dataset.shown === undefined) refused(error);
      panel.dataset.shown = "";
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    }
  }
  show();
  setInterval(() => say(document.getElementById("clock"), f.at(time.now())), 250);
  api.follow(last, told, online);
}

begin();
