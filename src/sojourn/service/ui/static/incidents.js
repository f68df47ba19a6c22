// Incidents: stop the clock of a rule, or shift deadlines; each is one recorded act, listed here, that can be taken back.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { busy, confirm, empty, refused, toast } from "./dialogs.js";
import * as f from "./format.js";
import * as time from "./time.js";

const WORDS = { stop: "stopped the clock of", resume: "resumed the clock of", shift: "shifted", undo: "took back the shift of" };

export function panel() {
  const stopped = h("div", { class: "stopped" });
  const list = h("ol", { class: "incidents", id: "incidents" });
  const stopRule = h("select", { "aria-label": "Rule to stop", required: true });
  const shiftRule = h("select", { "aria-label": "Rule to shift" }, h("option", { value: "" }, "every rule"));
  const prefix = h("input", { placeholder: "keys that begin with", "aria-label": "Key prefix", size: 14 });
  const by = h("input", { placeholder: "2 h", "aria-label": "By how much", size: 6, required: true });
  const stopNote = h("input", { placeholder: "why", "aria-label": "A note on the stop", size: 18, maxlength: 1000 });
  const shiftNote = h("input", { placeholder: "why", "aria-label": "A note on the shift", size: 14, maxlength: 1000 });
  const form = (title, text, call, button, ...inside) => {
    const element = h("form", { class: "card act-card", onsubmit: (event) => { event.preventDefault(); busy(element.querySelector("button"), call); } },
      h("h2", {}, title), h("p", { class: "dim" }, text), h("div", { class: "act" }, inside, h("button", { class: "primary" }, button)));
    return element;
  };
  const box = h("div", {}, stopped,
    h("div", { class: "split even" },
      form("Stop a clock", "No time passes for the waits of a rule, nor for those that come, until it is resumed. Signals still count.", stop, "Stop…", stopRule, stopNote),
      form("Shift deadlines", "Pending waits get more time. Those that come later do not.", shift, "Shift…", shiftRule, prefix, by, shiftNote)),
    h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "What was done")), list));

  async function stop() {
    const rule = stopRule.value;
    const { rules } = await api.get("v1/stats");
    const about = h("p", {}, h("b", {}, f.count(rules[rule]?.pending ?? 0)), " waits of ", h("code", {}, rule), " stand still until you resume it.");
    if (await confirm(`Stop the clock of ${rule}?`, about, "Stop it", "bad")) {
      await api.post("v1/incidents", { act: "stop", rule, ...(stopNote.value ? { note: stopNote.value } : {}) });
      stopNote.value = "";
      toast(`The clock of ${rule} stands.`);
      await refresh();
    }
  }

  async function shift() {
    const where = { ...(shiftRule.value ? { rule: shiftRule.value } : {}), ...(prefix.value || !shiftRule.value ? { key_prefix: prefix.value } : {}) };
    const { count } = await api.post("v1/waits:shift", { ...where, by: by.value, dry_run: true });
    if (await confirm("Shift deadlines?", h("p", {}, h("b", {}, f.count(count)), " waits get ", h("b", {}, by.value), " more."), "Shift them")) {
      await api.post("v1/incidents", { act: "shift", ...where, by: by.value, ...(shiftNote.value ? { note: shiftNote.value } : {}) });
      shiftNote.value = "";
      toast("The deadlines have been shifted.");
      await refresh();
    }
  }

  async function resume(rule) {
    if (await confirm(`Resume the clock of ${rule}?`, h("p", {}, "Each wait has as much time left as when it was stopped."), "Resume it")) {
      await api.post("v1/incidents", { act: "resume", rule });
      toast(`The clock of ${rule} goes on.`);
      await refresh();
    }
  }

  async function undo(act) {
    if (await confirm("Take this shift back?", h("p", {}, "Waits that it moved, and that are pending, lose ", h("b", {}, f.span(act.by_ms)), " again. What has no time left then expires now."), "Take it back", "bad")) {
      const done = await api.post(`v1/incidents/${act.number}/undo`);
      toast(`${f.count(done.waits)} deadlines have been moved back.`);
      await refresh();
    }
  }

  async function refresh() {
    try {
      const [found, { rules }] = await Promise.all([api.get("v1/incidents"), api.get("v1/stats")]);
      if (box.isConnected) show(found, Object.keys(rules));
    } catch (error) {
      refused(error);
    }
  }

  function show(found, names) {
    options(stopRule, names.filter((name) => !(name in found.stopped) && name !== "wait"));
    options(shiftRule, names, true);
    put(stopped, Object.entries(found.stopped).map(([rule, since]) => {
      const button = h("button", { type: "button", class: "primary", onclick: () => busy(button, () => resume(rule)) }, "Resume…");
      return h("div", { class: "notice stop", role: "status" }, h("span", {}, "The clock of ", h("b", {}, rule), ` stands since ${f.at(since)}, for ${f.span(time.now() - since)}.`), button);
    }));
    put(list, found.incidents.length ? found.incidents.map(row) : empty("Nothing was done", "Stops and shifts are in the log, and listed here."));
  }

  function row(act) {
    const what = act.rule ?? (act.key_prefix ? `keys ${act.key_prefix}…` : "every wait");
    const button = act.act === "shift" && !act.is_over ? h("button", { type: "button", class: "quiet", onclick: () => busy(button, () => undo(act)) }, "Undo…") : null;
    return h("li", { class: act.is_over ? "over" : "" },
      h("span", { class: "number" }, `#${act.number}`),
      h("span", {}, WORDS[act.act], " ", h("b", {}, what), act.rule && act.key_prefix ? ` on keys ${act.key_prefix}…` : "", act.by_ms ? ` by ${f.span(act.by_ms)}` : "", `, ${f.count(act.waits)} waits`,
        act.is_over ? h("em", { class: "dim" }, act.act === "stop" ? ", resumed since" : ", undone since") : null,
        act.note ? h("span", { class: "note dim" }, act.note) : null),
      h("time", { class: "dim", title: f.atFull(act.at) }, f.atDay(act.at)), button ?? h("span", {}));
  }

  function options(select, names, all = false) {
    const chosen = select.value;
    put(select, all ? h("option", { value: "" }, "every rule") : null, names.map((name) => h("option", { value: name, selected: name === chosen }, name)));
  }

  setTimeout(refresh);
  time.every(3_000, box, refresh);
  return box;
}
