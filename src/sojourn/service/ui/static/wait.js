// One wait: where it stands, what has come, how long such waits take; extend, signal, cancel, each after a question.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { chart, life } from "./charts.js";
import { busy, confirm, refused, toast } from "./dialogs.js";
import { onOutcome } from "./news.js";
import * as f from "./format.js";
import * as time from "./time.js";

const FAR = 36_525 * 86_400_000;
const WORDS = { opened: "opened", signal: "signal", extended: "deadline moved", stop: "clock stopped", resume: "clock resumed", shift: "deadline shifted", undo: "shift undone" };

export function drawer(wait_id, changed) {
  const body = h("div", { class: "drawer-body" }, h("p", { class: "dim" }, "…"));
  const box = h("div", { class: "drawer-in", id: "drawer" },
    h("div", { class: "drawer-head" }, h("h2", {}, wait_id), h("a", { class: "quiet icon", href: "#/waits", "aria-label": "Close", title: "Close (Esc)" }, "×")), body);

  let turn = 0;
  let known = null;
  let latest; // what is to be expected of it, as far as known
  let acts = null; // made once: what somebody types there stays when the rest is drawn again
  async function load() {
    const mine = ++turn;
    const isLast = () => mine === turn && box.isConnected;
    const path = `v1/waits/${api.id(wait_id)}`;
    try {
      const [wait, explained, line, incidents] = await Promise.all([api.get(path), api.get(`${path}/explain`), api.get(`${path}/timeline`), api.get("v1/incidents")]);
      if (!isLast()) return;
      known = { wait, line };
      const since = incidents.stopped[wait.rule];
      show(wait, explained.text, line, since, wait.status === "pending" ? latest : null);
      if (wait.status === "pending") {
        const outlook = await api.get(`${path}/outlook`).catch(() => null);
        latest = outlook;
        if (isLast()) show(wait, explained.text, line, since, outlook);
      }
    } catch (error) {
      if (known?.wait.outcome && error.status === 404) return; // without an id of its own, nobody knows it any more
      put(body, h("p", { class: "notice bad", role: "alert" }, error.message));
      if (error.status !== 404) refused(error);
    }
  }

  function show(wait, sentence, line, since, outlook) {
    const until = since === undefined ? wait.deadline : wait.deadline - FAR - since + time.now();
    const picture = chart(108, "The wait as a line from its opening to its deadline", (svg, width, height, tip) =>
      life(svg, width, height, tip, { wait, steps: line.steps, outlook, now: time.now(), until }));
    if (wait.status === "pending") time.every(1_000, picture.box, picture.redraw);
    put(body,
      h("p", { class: "chips" }, h("span", { class: `chip ${wait.status}` }, wait.status), h("span", { class: "chip" }, wait.rule ?? "no rule"),
        since !== undefined && wait.status === "pending" ? h("span", { class: "chip stopped" }, "clock stopped") : null),
      h("p", { class: "explained", id: "explained" }, sentence.replace(/(\ds)\d+ms/, "$1")),
      picture.box,
      outlook ? expected(outlook) : outlook === undefined ? h("p", { class: "dim" }, "Looking at how long such waits take…") : null,
      wait.status === "pending" ? (acts ??= actions(wait)) : null,
      h("h3", {}, "What has come"),
      h("ol", { class: "steps" }, line.steps.map((step) => stepRow(step, wait))),
      line.is_partial ? h("p", { class: "dim" }, "The log is too long to look through all of it, or does not go back so far.") : null,
      h("h3", {}, "Facts"),
      h("dl", { class: "facts" }, facts(wait, since).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      wait.payload === null ? null : [h("h3", {}, "Payload"), h("pre", { class: "payload", id: "payload", tabindex: "0" }, JSON.stringify(wait.payload, null, 2))]);
  }

  // a near miss says by how much
  const missed = ({ note, at }, wait) => {
    if (note === "after it had ended") return `${f.span(at - wait.outcome.at)} after it had ended`;
    return note === "before it was opened" ? `${f.span(wait.opened_at - at)} before it was opened` : note;
  };

  const stepRow = (step, wait) => h("li", { class: `step ${step.what} ${step.note === "counted" ? "counted" : ""}` },
    h("i", { class: "dot" }),
    h("span", {}, step.what === "signal" ? [h("b", {}, step.kind), step.source === null ? "" : ` from ${step.source}`, step.value === null ? "" : `, ${step.value}`] : h("b", {}, WORDS[step.what] ?? step.what),
      step.what === "signal" && step.note !== "counted" ? h("em", { class: "miss" }, ` ${missed(step, wait)}`) : null,
      step.by_ms ? h("em", {}, ` by ${f.span(step.by_ms)}`) : null),
    h("time", { class: "dim", title: f.atFull(step.at) }, f.atDay(step.at), ":", String(new Date(step.at).getSeconds()).padStart(2, "0")));

  function expected({ p50_ms, p90_ms, completes, like }) {
    if (!like || completes === null) return h("p", { class: "dim" }, "No other wait of this rule has been seen for so long: nothing is known of what comes.");
    const by = (ms) => (ms === null ? "not seen" : f.span(ms));
    return h("div", { class: "outlook", id: "outlook" },
      h("div", {}, h("span", { class: "dim" }, "half are met in"), h("b", {}, by(p50_ms))),
      h("div", {}, h("span", { class: "dim" }, "nine of ten in"), h("b", {}, by(p90_ms))),
      h("div", {}, h("span", { class: "dim" }, "met in time"), h("b", {}, f.percent(completes, 0))),
      h("p", { class: "dim" }, `from here on, of ${f.count(like)} like it that were still waiting at this age`));
  }

  const facts = (wait, since) => [
    ["id", wait.id], [wait.keys.length > 1 ? "keys" : "key", wait.keys.join(", ")],
    ["until", typeof wait.until === "string" ? wait.until : JSON.stringify(wait.until)],
    ["within", f.span(wait.within_ms)], ["opened", f.atFull(wait.opened_at)],
    ["deadline", since === undefined || wait.outcome ? f.atFull(wait.deadline) : `stands; ${f.span(wait.deadline - FAR - since)} left when it goes on`],
    ...(wait.outcome ? [["ended", f.atFull(wait.outcome.at)], ["decided by", wait.outcome.decided_by ?? "–"], ["number", f.count(wait.outcome.number)]] : []),
  ];

  function actions(wait) {
    const path = `v1/waits/${api.id(wait.id)}`;
    const within = h("input", { value: f.span(wait.within_ms).replace("–", "10 min"), "aria-label": "How long from now", size: 8 });
    const kind = h("input", { placeholder: "kind", "aria-label": "Kind of the signal", size: 10 });
    const source = h("input", { placeholder: "source", "aria-label": "Source of the signal", size: 8 });
    const done = (text) => { toast(text); changed(); load(); };
    const extend = async () => {
      if (await confirm("Move the deadline?", h("p", {}, "To ", h("b", {}, within.value), " from now: ", h("code", {}, wait.id)), "Move it")) {
        await api.ask("PATCH", path, { within: within.value });
        done("The deadline has been moved.");
      }
    };
    const signal = async () => {
      if (await confirm("Send this signal?", h("p", {}, h("b", {}, kind.value), " to ", h("code", {}, wait.keys[0]), ". Every wait on that key hears it."), "Send it")) {
        const { completed } = await api.post("v1/signals", { key: wait.keys[0], kind: kind.value, ...(source.value ? { source: source.value } : {}) });
        done(completed ? `That completed ${f.count(completed)}.` : "It was heard; nothing completed by it yet.");
      }
    };
    const cancel = async () => {
      if (await confirm("Cancel this wait?", h("p", {}, h("code", {}, wait.id), " ends as cancelled. That cannot be undone."), "Cancel it", "bad")) {
        const { ended_by_this } = await api.ask("DELETE", path);
        done(ended_by_this ? "It has been cancelled." : "It had ended already.");
      }
    };
    const form = (call, ...inside) => {
      const element = h("form", { class: "act", onsubmit: (event) => { event.preventDefault(); busy(element.querySelector("button"), call); } }, inside);
      return element;
    };
    return h("div", { class: "acts" },
      form(extend, within, h("button", {}, "Extend")),
      form(signal, kind, source, h("button", {}, "Signal")),
      form(cancel, h("button", { class: "bad", id: "cancel-wait" }, "Cancel the wait")));
  }

  onOutcome(box, (outcome) => {
    if (outcome.operation_id !== wait_id) return;
    if (known) {
      Object.assign(known.wait, { status: outcome.outcome, outcome, deadline: outcome.deadline });
      known.line.steps.push({ at: outcome.at, what: outcome.outcome });
      show(known.wait, `${outcome.outcome} after ${f.span(outcome.waited_ms)}`, known.line, undefined, null);
    }
    load();
  });
  setTimeout(load);
  return box;
}
