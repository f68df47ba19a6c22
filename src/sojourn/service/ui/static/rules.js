// Rules: the live share, how long waits take with the deadline drawn in, and what another deadline would have done.

import * as api from "./api.js";
import { h, put, say } from "./dom.js";
import { chart, distribution, ring } from "./charts.js";
import { empty, refused } from "./dialogs.js";
import * as f from "./format.js";
import * as time from "./time.js";

export function panel() {
  const grid = h("div", { class: "rules", id: "rules" }, h("p", { class: "dim reading" }, "Reading the last week…"));
  const note = h("p", { class: "dim" }, "\u00a0");
  const box = h("div", {}, grid, note);
  const cards = new Map();

  async function refresh() {
    try {
      const [{ rules: known }, { rules: live }, past] = await Promise.all([api.get("v1/rules"), api.get("v1/stats"), api.get("v1/insight/rules")]);
      if (!box.isConnected) return;
      show(Array.isArray(known) ? known : Object.values(known), live, past);
    } catch (error) {
      refused(error);
      if (!cards.size) put(grid, h("p", { class: "notice bad" }, error.message));
    }
  }

  function show(known, live, past) {
    const texts = new Map(known.map((rule) => [rule.name, rule.text]));
    const names = [...new Set([...known.map((rule) => rule.name), ...past.rules.map((rule) => rule.rule)])].sort();
    const pictures = new Map(past.rules.map((rule) => [rule.rule, rule]));
    if (!names.length) {
      put(grid, empty("No rules yet", "PUT /v1/rules/NAME makes one; waits may also bring a condition of their own."));
      return;
    }
    if (!cards.size) put(grid);
    for (const name of names) {
      if (!cards.has(name)) {
        cards.set(name, card(name));
        grid.append(cards.get(name).element);
      }
      cards.get(name).show(texts.get(name), live[name], pictures.get(name));
    }
    const since = Math.max(past.since, 0);
    say(note, `Waits opened since ${f.atDay(since)}, as of ${f.at(past.as_of)}. Shares are Kaplan-Meier estimates: what is pending, or was cancelled, counts for as long as it was seen.`);
  }

  setTimeout(refresh);
  time.every(15_000, box, refresh);
  return box;
}

function card(name) {
  let rule = null;
  let tried = null;
  let asking = 0;
  const head = h("div", { class: "rule-head" });
  const picture = chart(230, `How long waits of ${name} take`, (svg, width, height, tip) => {
    if (rule) distribution(svg, width, height, tip, { rule, tried });
  });
  const slider = h("input", { type: "range", min: 0, max: 1000, value: 500, "aria-label": `Another deadline for ${name}` });
  const answer = h("p", { class: "what-if" }, "\u00a0");
  const detail = h("p", { class: "dim what-if-more" }, "\u00a0");
  const chips = h("div", { class: "chips" });
  const lower = h("div", { class: "rule-lower" }, h("label", { class: "slider" }, h("span", { class: "dim" }, "another deadline"), slider), answer, detail, chips);
  const nothing = h("p", { class: "dim nothing" });
  const element = h("section", { class: "card rule", data: { rule: name } }, head, picture.box, lower, nothing);

  const longest = () => rule.bars.width_ms * rule.bars.counts.length;
  const share = (ms) => {
    let found = [0, 0, 0, 0];
    for (const point of rule.curve) {
      if (point[0] > ms) break;
      found = point;
    }
    return found;
  };

  function choose(ms) {
    tried = Math.max(1, Math.round(ms));
    slider.value = String(Math.round((tried / longest()) * 1000));
    slider.setAttribute("aria-valuetext", f.span(tried));
    picture.redraw();
    tell(share(tried).slice(1));
    clearTimeout(asking);
    asking = setTimeout(exact, 250);
  }

  // at first from the curve as it is drawn, then exactly
  function tell([middle, low, high]) {
    const now = rule.within_ms ? share(rule.within_ms)[1] : null;
    const change = now === null || tried === rule.within_ms ? "" : `, ${middle >= now ? "+" : "−"}${Math.abs((middle - now) * 100).toFixed(1)} points`;
    put(answer, `With ${f.span(tried)}, `, h("b", {}, f.percent(middle)), ` would complete (${f.percent(low)} to ${f.percent(high)}${change}).`);
  }

  async function exact() {
    try {
      const within = tried;
      const { deadlines: [one] } = await api.post("v1/what-if", { rule: name, within: [within] });
      if (within !== tried) return;
      if (one.share) tell(one.share);
      say(detail, `Of ${f.count(rule.opened)} in the last week: ${f.count(one.completed)} completed, ${f.count(one.expired)} expired, ${f.count(one.cancelled)} cancelled, ${f.count(one.pending)} still pending${one.unknown ? `, ${f.count(one.unknown)} unknown` : ""}.`);
    } catch (error) {
      refused(error);
    }
  }

  slider.addEventListener("input", () => choose((Number(slider.value) / 1000) * longest()));

  function show(text, live, found) {
    rule = found ?? null;
    const shareText = f.percent(rule?.share ?? null, 0);
    put(head, ring(rule?.share, shareText),
      h("div", {}, h("h2", {}, name), text ? h("p", { class: "dim rule-text" }, text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text) : null,
        h("p", { class: "numbers" }, [["pending", live?.pending ?? 0], ["completed", rule?.completed ?? 0], ["expired", rule?.expired ?? 0], ["cancelled", rule?.cancelled ?? 0]].map(([kind, n]) =>
          h("span", { class: kind }, h("b", {}, f.short(n)), ` ${kind}`)))));
    const canTry = rule && rule.completed + rule.met_late > 0 && !rule.keeps_alive;
    lower.hidden = picture.box.hidden = !canTry;
    element.classList.toggle("last", !canTry);
    say(nothing, canTry ? "" : rule?.keeps_alive ? "Signals keep it alive: its deadline moves with each, so no other can be tried on its past." : "Nothing of it has completed in the last week: there is nothing to draw yet.");
    if (!canTry) return;
    put(chips, h("span", { class: "dim" }, "it takes, for"), rule.recommended.map((one) =>
      h("button", { type: "button", class: "chip", disabled: one.within_ms === null, title: one.earliest_ms === null ? "" : `${f.span(one.earliest_ms)} to ${one.latest_ms === null ? "no known end" : f.span(one.latest_ms)}, with 95 % confidence`, onclick: () => choose(one.within_ms) },
        `${f.percent(one.share, 0)}: `, h("b", {}, one.within_ms === null ? "not seen" : f.span(one.within_ms)))));
    if (tried === null && rule.within_ms) choose(rule.within_ms);
    else if (tried !== null) choose(tried);
    else {
      choose(longest() / 2);
    }
  }

  return { element, show };
}
