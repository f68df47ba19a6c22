// Waits: search, time left counting down; one wait as a timeline, and what one can do with it.

import * as api from "./api.js";
import { h, put, say } from "./dom.js";
import { busy, empty, refused } from "./dialogs.js";
import { onOutcome } from "./news.js";
import * as f from "./format.js";
import * as time from "./time.js";
import { drawer } from "./wait.js";

const asked = { text: "", rule: "", due: "", limit: 50 };
const DUE = [["", "due whenever"], ["0", "overdue"], ["60000", "due within a minute"], ["600000", "due within 10 min"], ["3600000", "due within an hour"], ["86400000", "due within a day"]];
const PAGES = 1_000;
let open = null;

export function moved([wait_id]) {
  open?.(wait_id);
}

export function panel([wait_id]) {
  const list = h("div", { class: "wait-list", id: "wait-list" });
  const aside = h("aside", { class: "drawer", "aria-label": "One wait", hidden: true });
  const more = h("div", { class: "more" });
  const search = h("input", { id: "search", type: "search", placeholder: "An id, or how a key begins", value: asked.text, autocomplete: "off", spellcheck: "false", "aria-label": "Search by id or key prefix" });
  const rule = h("select", { "aria-label": "Rule" }, h("option", { value: "" }, "every rule"));
  const due = h("select", { "aria-label": "Due" }, DUE.map(([ms, text]) => h("option", { value: ms, selected: ms === asked.due }, text)));
  const box = h("div", { class: "waits" },
    h("form", { class: "searchbar", role: "search", onsubmit: (event) => { event.preventDefault(); look(); } }, search, rule, due,
      h("span", { class: "dim", id: "wait-note" }, "\u00a0")),
    h("div", { class: "with-drawer" }, h("section", { class: "card flush" }, list, more), aside));
  let rows = [];
  let stopped = {};
  let turn = 0;

  async function look() {
    const mine = ++turn;
    asked.text = search.value.trim();
    asked.rule = rule.value;
    asked.due = due.value;
    const before = asked.due === "" ? null : Math.round(time.now() + Number(asked.due));
    const where = { key_prefix: asked.text, rule: asked.rule, due_before: before, limit: asked.limit };
    try {
      const page = api.get(api.query("v1/due", where));
      const onKey = asked.text ? api.get(api.query("v1/waits", { ...where, key_prefix: null, key: asked.text })) : Promise.resolve({ waits: [] });
      const exact = asked.text ? api.get(`v1/waits/${api.id(asked.text)}`).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      }) : Promise.resolve(null);
      const incidents = api.get("v1/incidents");
      const [found, one, keyed, acts] = await Promise.all([page, exact, onKey, incidents]);
      if (mine !== turn || !box.isConnected) return;
      stopped = acts.stopped;
      const first = [...(one ? [one] : []), ...keyed.waits];
      show(apart([...first, ...found.waits]), found.is_all);
      if (!found.is_all && rows.length < asked.limit) await lookFurther(mine, where);
    } catch (error) {
      refused(error);
    }
  }

  const apart = (waits) => [...new Map(waits.map((wait) => [wait.id, wait])).values()];

  // Those due first were not enough: go through all of them, some at a time, as long as nobody asks for something else.
  async function lookFurther(mine, where) {
    let after = 0;
    for (let i = 0; i < PAGES && after !== null; i++) {
      const found = await api.get(api.query("v1/waits", { ...where, after }));
      if (mine !== turn || !box.isConnected) return;
      after = found.next;
      const all = apart([...rows.map((one) => one.wait), ...found.waits]);
      if (all.length > rows.length || after === null) show(all.slice(0, 500), after === null);
      if (all.length >= asked.limit) return;
      if (after !== null) say(document.getElementById("wait-note"), `looking further, ${f.short(after)} so far`);
    }
  }

  function show(waits, isAll) {
    rows = waits.map(row);
    put(list, rows.length ? rows.map((one) => one.element)
      : empty(asked.text || asked.rule ? "Nothing like that is pending" : "Nothing is pending", "Waits that have ended are found by their id, while that is remembered."));
    put(more, isAll || asked.limit >= 500 ? null : h("button", { type: "button", class: "quiet", onclick: () => { asked.limit = Math.min(500, asked.limit * 3); look(); } }, "More"));
    say(document.getElementById("wait-note"), rows.length ? `${f.count(rows.length)}${isAll ? "" : " or more"}, due first on top` : "");
    tickAll();
    mark();
  }

  function row(wait) {
    const leftText = h("span", { class: "left" });
    const part = h("i", {});
    const element = h("a", { class: `wait ${wait.status}`, href: `#/waits/${api.id(wait.id)}`, data: { id: wait.id } },
      h("span", { class: "wait-main" }, h("b", {}, wait.keys.join(", ")), h("span", { class: "dim" }, wait.id)),
      h("span", { class: "wait-rule" }, wait.rule ?? "no rule"),
      h("span", { class: "wait-missing dim" }, wait.status === "pending" ? `missing ${wait.missing}` : wait.status),
      leftText, h("span", { class: "life-bar", "aria-hidden": "true" }, part));
    return { wait, element, leftText, part };
  }

  function tickAll() {
    const now = time.now();
    for (const { wait, leftText, part, element } of rows) {
      if (wait.status !== "pending") {
        say(leftText, wait.outcome ? `${f.span(wait.outcome.waited_ms)}` : "");
        part.style.width = "100%";
        continue;
      }
      const since = stopped[wait.rule];
      const left = since === undefined ? wait.deadline + 1 - now : wait.deadline - FAR - since;
      say(leftText, since === undefined ? f.left(left) : `stopped, ${f.left(left)}`);
      const share = Math.min(1, Math.max(0, left / Math.max(1, wait.deadline - wait.opened_at - (since === undefined ? 0 : FAR))));
      part.style.width = `${share * 100}%`;
      element.classList.toggle("soon", since === undefined && left < 60_000 && share < 0.2);
    }
  }

  function ended(outcome) {
    const one = rows.find(({ wait }) => wait.id === outcome.operation_id);
    if (!one || one.wait.status !== "pending") return;
    Object.assign(one.wait, { status: outcome.outcome, outcome });
    one.element.classList.replace("pending", outcome.outcome);
    say(one.element.querySelector(".wait-missing"), outcome.outcome);
  }

  const mark = () => {
    const [, , chosen] = location.hash.split("/");
    for (const { wait, element } of rows) {
      if (chosen !== undefined && wait.id === decodeURIComponent(chosen)) element.setAttribute("aria-current", "true");
      else element.removeAttribute("aria-current");
    }
  };

  open = (chosen) => {
    aside.hidden = !chosen;
    aside.parentElement.classList.toggle("has-drawer", Boolean(chosen));
    put(aside, chosen ? drawer(chosen, look) : null);
    mark();
  };

  async function rulesKnown() {
    try {
      const { rules } = await api.get("v1/stats");
      for (const name of Object.keys(rules)) rule.append(h("option", { value: name, selected: name === asked.rule }, name));
    } catch (error) {
      refused(error);
    }
  }

  let soon = 0;
  search.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(look, 180); });
  for (const select of [rule, due]) select.addEventListener("change", () => busy(select, look));
  onOutcome(box, ended);
  time.every(500, box, tickAll);
  time.every(5_000, box, () => { if (!search.matches(":focus") && !asked.text && !asked.rule) look(); });
  setTimeout(() => { rulesKnown(); look(); open(wait_id); });
  return box;
}

export const FAR = 36_525 * 86_400_000; // how far a stopped clock moves deadlines: sojourn/durable/incidents.py
