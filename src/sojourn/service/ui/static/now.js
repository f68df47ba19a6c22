// Now: what is pending and when it is due, outcomes as they come, lateness, disk.

import * as api from "./api.js";
import { h, put, say } from "./dom.js";
import { chart, dial, ENDINGS, horizon, spark, stream } from "./charts.js";
import { refused } from "./dialogs.js";
import { onOutcome } from "./news.js";
import * as f from "./format.js";
import * as time from "./time.js";

const RANGES = [["2 min", 120_000, 60], ["1 h", 3_600_000, 60], ["24 h", 86_400_000, 96], ["7 days", 604_800_000, 84], ["60 days", 5_184_000_000, 60]];
const FEED = 14;

let range = 1;
let unit = "seconds";

const tile = (title, more = {}) => {
  const value = h("div", { class: "tile-value" }, "–");
  const note = h("div", { class: "tile-note" }, "\u00a0");
  return { box: h("section", { class: "tile", ...more }, h("h3", {}, title), value, note), value, note };
};

const choice = (names, chosen, onchoose, label) => {
  const buttons = names.map((name, i) => h("button", { type: "button", "aria-pressed": String(i === chosen), onclick: () => {
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(i === j)));
    onchoose(i);
  } }, name));
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
};

export function panel() {
  let last = null;
  const face = dial("Waits due in the next minute, second by second");
  const faceNote = h("p", { class: "dial-note" }, "\u00a0");
  const tiles = {
    rate: tile("Outcomes per minute"), next: tile("Next due"), late: tile("Lateness, p99"), overdue: tile("Overdue"),
  };
  const sentence = h("p", { class: "sentence", id: "forecast" }, "\u00a0");
  const ahead = chart(210, "Pending waits by the time they are due", (svg, width, height, tip) => {
    if (!last) return;
    const herds = last.herds.map((herd) => ({ ...herd, place: Math.floor((herd.at - last.start) / last.width_ms) }));
    horizon(svg, width, height, tip, { ...last, herds, now: time.now() });
  });
  const told = chart(310, "Outcomes as they were told", (svg, width, height, tip) => {
    if (!last) return;
    stream(svg, width, height, tip, { rows: last[unit], unit_ms: unit === "seconds" ? 1_000 : 60_000, now: last.now_ms });
  });
  const feed = h("ol", { class: "feed", id: "feed" });
  const disk = h("div", { class: "disk" });
  const stopped = h("div", {});
  const box = h("div", { class: "now" },
    stopped,
    h("div", { class: "hero" },
      h("section", { class: "card face" }, h("h2", { class: "visually-hidden" }, "The next minute"), face.svg, faceNote),
      h("div", { class: "tiles" }, tiles.next.box, tiles.rate.box, tiles.late.box, tiles.overdue.box,
        h("section", { class: "tile wide" }, h("h3", {}, "Disk"), disk))),
    h("section", { class: "card" },
      h("div", { class: "card-head" }, h("h2", {}, "What is due"),
        choice(RANGES.map(([name]) => name), range, (i) => { range = i; refresh(); }, "How far ahead")),
      ahead.box, sentence),
    h("div", { class: "split" },
      h("section", { class: "card" },
        h("div", { class: "card-head" }, h("h2", {}, "Outcomes as they come"),
          choice(["2 min", "1 h"], unit === "seconds" ? 0 : 1, (i) => { unit = i ? "minutes" : "seconds"; told.redraw(); }, "How far back")),
        told.box,
        h("ul", { class: "legend" }, ENDINGS.map((name) => h("li", { class: name }, name)))),
      h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Just told")), feed)));

  async function refresh() {
    const [, within, buckets] = RANGES[range];
    try {
      last = await api.get(api.query("v1/now", { within, buckets }));
    } catch (error) {
      refused(error);
      return;
    }
    if (!box.isConnected) return;
    time.heard(last.now_ms, last.is_manual);
    face.show(last.minute.start, last.minute.counts, Math.max(50, 6 * mean(last.minute.counts)));
    words();
    ahead.redraw();
    told.redraw();
    figures();
  }

  const mean = (counts) => counts.reduce((a, b) => a + b, 0) / Math.max(1, counts.length);

  function words() {
    const soon = last.minute.counts.reduce((a, b) => a + b, 0);
    say(faceNote, `${f.count(soon)} due in the next minute`);
    const name = RANGES[range][0];
    const total = last.counts.reduce((a, b) => a + b, 0);
    const rate = `${f.count(last.told_per_second)} per second, ${last.is_measured ? "as measured" : "assumed until there is a herd to measure"}`;
    const herd = last.herds[0];
    put(sentence, `${f.count(total)} due within ${name}, ${f.count(last.later)} later${last.stopped ? `, ${f.count(last.stopped)} with a stopped clock` : ""}. `,
      herd ? [h("b", { class: "warned" }, `A herd of ${f.count(herd.waits)} falls due around ${last.width_ms < 86_400_000 / 4 ? f.begin(herd.at, Math.min(last.width_ms, 60_000)) : f.atDay(herd.at)}`), `: if none completes before, telling it takes about ${f.span(herd.takes_ms)} (${rate}).`]
        : `No herd in sight; outcomes are told at ${rate}.`);
    const rules = Object.entries(last.stopped_rules);
    put(stopped, rules.length ? h("p", { class: "notice" }, h("b", {}, rules.length > 1 ? "Clocks are stopped: " : "A clock is stopped: "),
      rules.map(([rule, since]) => `${rule}, for ${f.span(last.now_ms - since)}`).join("; "), " ", h("a", { href: "#/incidents" }, "Incidents")) : null);
  }

  function figures() {
    const minute = last.seconds.slice(-60).reduce((sum, row) => sum + row[0] + row[1] + row[2], 0);
    say(tiles.rate.value, f.short(minute));
    put(tiles.rate.note, spark(last.minutes.map((row) => row[0] + row[1] + row[2])));
    say(tiles.late.value, last.lateness.count ? f.span(last.lateness.p99_ms) : "–");
    say(tiles.late.note, last.lateness.count ? `p50 ${f.span(last.lateness.p50_ms)}, at most ${f.span(last.lateness.max_ms)}` : "nothing has expired yet");
    say(tiles.overdue.value, f.short(last.overdue));
    tiles.overdue.box.classList.toggle("bad", last.overdue > 0 && last.drain_ms > 1_000);
    say(tiles.overdue.note, last.overdue ? `told in about ${f.span(last.drain_ms)}` : "all told in time");
    const { log, snapshots, other, free, total } = last.disk;
    const used = log + snapshots + other;
    put(disk, h("div", { class: "disk-words" }, h("span", {}, h("b", {}, f.bytes(log)), " log"), h("span", {}, h("b", {}, f.bytes(snapshots + other)), " snapshots and data set"),
      h("span", {}, h("b", {}, f.bytes(free)), " free")), meter(used / Math.max(1, used + free), free / Math.max(1, total) < 0.05));
  }

  function meter(share, isLow) {
    const part = h("i", {});
    part.style.width = `${Math.max(0.5, share * 100)}%`;
    return h("div", { class: isLow ? "meter bad" : "meter", role: "img", "aria-label": `${f.percent(share)} of what the folder could take` }, part);
  }

  function tickAll() {
    if (!last) return;
    const now = time.now();
    const isStanding = last.next_due !== null && last.stopped === last.pending;
    say(tiles.next.value, last.next_due === null || isStanding ? "–" : f.left(last.next_due + 1 - now));
    say(tiles.next.note, isStanding ? "all clocks are stopped" : last.next_due === null ? "nothing is pending" : `at ${f.tick(last.next_due, Math.max(60_000, last.next_due - now))}`);
    face.words(last.pending, "");
  }

  function sweep() {
    if (!box.isConnected) return;
    face.point(time.isCalm() ? Math.floor(time.now() / 1000) * 1000 : time.now());
    requestAnimationFrame(sweep);
  }

  const row = (outcome) => h("li", { class: "fresh", data: { number: outcome.number } },
    h("i", { class: `dot ${outcome.outcome}` }),
    h("span", { class: "feed-key" }, outcome.key),
    h("span", { class: "feed-rule dim" }, outcome.rule),
    h("span", { class: `feed-what ${outcome.outcome}` }, outcome.outcome),
    h("span", { class: "feed-waited" }, f.span(outcome.waited_ms)),
    h("time", { class: "dim" }, f.at(outcome.at)));

  const waiting = [];
  function flush() {
    if (!waiting.length) return;
    const shown = new Set([...feed.children].map((one) => Number(one.dataset.number)));
    const fresh = waiting.splice(0).filter((outcome) => !shown.has(outcome.number)).slice(-FEED).reverse();
    feed.prepend(...fresh.map(row));
    while (feed.children.length > FEED) feed.lastChild.remove();
    say(feedNote, "");
  }
  const feedNote = h("li", { class: "dim none" }, "Nothing has ended yet.");
  feed.append(feedNote);
  onOutcome(box, (outcome) => {
    waiting.push(outcome);
    if (waiting.length > 200) waiting.splice(0, 100);
    if (!pendingFlush) pendingFlush = setTimeout(() => { pendingFlush = 0; flush(); }, 120);
  });
  let pendingFlush = 0;
  async function earlier() {
    try {
      const start = await api.get("v1/now?within=1h");
      const { outcomes } = await api.get(`v1/outcomes?after=${Math.max(0, start.last_number - FEED)}`);
      if (feed.querySelector(".fresh") || !outcomes.length) return;
      put(feed, outcomes.reverse().map(row));
    } catch (error) {
      if (error.status !== 410) refused(error);
    }
  }
  setTimeout(() => { refresh(); earlier(); sweep(); });
  time.every(2_000, box, refresh);
  time.every(250, box, tickAll);
  return box;
}
