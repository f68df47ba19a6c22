// Webhooks: where outcomes are sent, how that goes, what failed; and trying again now.

import * as api from "./api.js";
import { h, put, say } from "./dom.js";
import { busy, confirm, empty, refused, toast } from "./dialogs.js";
import * as f from "./format.js";
import * as time from "./time.js";

const SHOWN = 30;

export function panel() {
  const list = h("div", { id: "webhooks", class: "hooks" });
  const url = h("input", { type: "url", placeholder: "https://example.org/outcomes", "aria-label": "URL", required: true });
  const rule = h("select", { "aria-label": "Only of a rule" }, h("option", { value: "" }, "every rule"));
  const form = h("form", { class: "card act-card", onsubmit: (event) => { event.preventDefault(); busy(form.querySelector("button"), create); } },
    h("h2", {}, "Send outcomes to a URL"), h("p", { class: "dim" }, "As CloudEvents, signed as Standard Webhooks have it; tried again over days until they are taken."),
    h("div", { class: "act" }, url, rule, h("button", { class: "primary" }, "Add…")));
  const box = h("div", {}, list, form);
  const cards = new Map();

  async function create() {
    if (!(await confirm("Send outcomes there?", h("p", {}, rule.value ? `Those of ${rule.value}, to ` : "All of them, to ", h("code", {}, url.value)), "Send them"))) return;
    const made = await api.post("v1/webhooks", { url: url.value, ...(rule.value ? { rule: rule.value } : {}) });
    url.value = "";
    await refresh();
    if (made.secret) {
      await confirm("Its secret", [h("p", {}, "With it the receiver checks signatures. It is shown this once."), h("p", {}, h("code", { id: "secret" }, made.secret))], "I have it");
    }
  }

  async function refresh() {
    try {
      const [{ webhooks }, { rules }] = await Promise.all([api.get("v1/webhooks"), api.get("v1/stats")]);
      if (!box.isConnected) return;
      const chosen = rule.value;
      put(rule, h("option", { value: "" }, "every rule"), Object.keys(rules).map((name) => h("option", { value: name, selected: name === chosen }, name)));
      show(webhooks);
    } catch (error) {
      if (error.status === 404) {
        form.hidden = true;
        put(list, empty("Without webhooks", "This service was started without them."));
      } else refused(error);
    }
  }

  function show(webhooks) {
    for (const [id, card] of cards) {
      if (!webhooks.some((hook) => hook.id === id)) {
        card.element.remove();
        cards.delete(id);
      }
    }
    if (!webhooks.length) {
      put(list, empty("No webhooks", "Nobody is told of outcomes from here yet."));
      return;
    }
    if (!cards.size) put(list);
    for (const hook of webhooks) {
      if (!cards.has(hook.id)) {
        cards.set(hook.id, card(hook.id, refresh));
        list.append(cards.get(hook.id).element);
      }
      cards.get(hook.id).show(hook);
    }
  }

  setTimeout(refresh);
  time.every(3_000, box, refresh);
  return box;
}

function card(id, changed) {
  const path = `v1/webhooks/${api.id(id)}`;
  const title = h("h2", {});
  const chips = h("p", { class: "chips" });
  const why = h("p", { class: "dim" });
  const rows = h("tbody", {});
  const table = h("div", { class: "scroll" }, h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["number", "outcome of", "status", "tries", "last", "next"].map((name) => h("th", {}, name)), h("th", {}))), rows));
  const retryAll = h("button", { type: "button", onclick: () => busy(retryAll, async () => {
    const { retried } = await api.post(`${path}/retry`);
    toast(`${f.count(retried)} are tried again now.`);
    changed();
  }) }, "Retry all now");
  const pause = h("button", { type: "button", class: "quiet", onclick: () => busy(pause, async () => {
    await api.ask("PATCH", path, { enabled: pause.dataset.enabled !== "true" });
    changed();
  }) }, "Pause");
  const remove = h("button", { type: "button", class: "quiet", onclick: () => busy(remove, async () => {
    if (await confirm("Remove this webhook?", h("p", {}, h("code", {}, title.textContent)), "Remove it", "bad")) {
      await api.ask("DELETE", path);
      changed();
    }
  }) }, "Remove…");
  const element = h("section", { class: "card hook", data: { hook: id } },
    h("div", { class: "hook-head" }, h("div", {}, title, chips), h("div", { class: "act" }, retryAll, pause, remove)), why, table);

  async function deliveries() {
    const pages = await Promise.all(["dead", "waiting"].map((status) => api.get(`${path}/deliveries?status=${status}&limit=${SHOWN}`)));
    const delivered = await api.get(`${path}/deliveries?status=delivered&limit=1000`);
    const all = [...pages.flatMap((page) => page.deliveries), ...delivered.deliveries.slice(-8).reverse()];
    return [...new Map(all.map((one) => [one.number, one])).values()]; // one may have been delivered meanwhile
  }

  async function show(hook) {
    say(title, hook.url);
    put(chips, chip(hook), h("span", { class: "chip" }, hook.rule ?? "every rule"),
      hook.outcomes ? h("span", { class: "chip" }, hook.outcomes.join(", ")) : null,
      h("span", { class: "dim" }, `${f.count(hook.behind)} behind, ${f.count(hook.waiting)} waiting, ${f.count(hook.dead)} dead`));
    say(why, hook.disabled_because && hook.disabled_because !== "by hand" ? `Stopped: ${hook.disabled_because}` : "");
    why.hidden = !why.textContent;
    pause.dataset.enabled = String(hook.enabled);
    say(pause, hook.enabled ? "Pause" : "Go on");
    retryAll.hidden = !(hook.waiting + hook.dead);
    try {
      const found = await deliveries();
      put(rows, found.length ? found.map(row) : h("tr", {}, h("td", { colspan: 7, class: "dim" }, "Nothing was sent yet.")));
    } catch (error) {
      refused(error);
    }
  }

  const chip = (hook) => h("span", { class: `chip ${hook.enabled ? (hook.is_down ? "expired" : "completed") : "cancelled"}` },
    hook.enabled ? (hook.is_down ? "not taken" : "taken") : "paused");

  function row(one) {
    const button = one.status === "delivered" ? null : h("button", { type: "button", class: "quiet", onclick: () => busy(button, async () => {
      await api.post(`${path}/deliveries/${one.number}/retry`);
      toast(`Outcome ${one.number} is tried again now.`);
      changed();
    }) }, "Retry now");
    const last = one.last_error ?? (one.last_status === null ? "" : `answered ${one.last_status}`);
    const kind = { delivered: "completed", dead: "expired", waiting: "pending" }[one.status];
    return h("tr", {}, h("td", {}, f.count(one.number)), h("td", {}, one.outcome.operation_id ?? "–"), h("td", {}, h("span", { class: `chip ${kind}` }, one.status)),
      h("td", {}, f.count(one.attempts)), h("td", {}, last, one.last_at === null ? null : h("span", { class: "dim" }, ` ${f.at(one.last_at)}`)),
      h("td", {}, one.status === "waiting" && one.next_at ? `in ${f.span(Math.max(0, one.next_at - time.now()))}` : ""), h("td", {}, button));
  }

  return { element, show };
}
