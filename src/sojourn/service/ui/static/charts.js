// Charts by hand, in SVG: drawn as wide as there is room, and again when that changes.

import { h, s, put, say } from "./dom.js";
import * as f from "./format.js";

// A box that draws itself by `draw(svg, width, height)`; `redraw` does so again.
export function chart(height, label, draw) {
  const svg = s("svg", { class: "chart", role: "img", "aria-label": label, height });
  const tip = h("div", { class: "tip", hidden: true });
  const box = h("div", { class: "chart-box" }, svg, tip);
  let width = 0;
  const redraw = () => {
    if (!width) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    draw(svg, width, height, (x, y, lines) => show(tip, x, y, width, lines));
  };
  new ResizeObserver(([entry]) => {
    const wanted = Math.floor(entry.contentRect.width);
    if (wanted && wanted !== width) {
      width = wanted;
      redraw();
    }
  }).observe(box);
  box.addEventListener("pointerleave", () => { tip.hidden = true; });
  return { box, redraw, svg };
}

function show(tip, x, y, width, lines) {
  if (!lines) {
    tip.hidden = true;
    return;
  }
  put(tip, lines.map((line, i) => h(i ? "span" : "b", {}, line)));
  tip.hidden = false;
  const half = tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(x, half + 2), width - half - 2)}px`;
  tip.style.top = `${Math.max(y, 4)}px`;
}

// The next minute as a clock face: a bar for each second, where the hand will be; what comes at once stands out.
export function dial(label) {
  const R = 86, LONGEST = 40;
  const bars = Array.from({ length: 60 }, (_, i) =>
    s("line", { class: "dial-bar", transform: `rotate(${i * 6})`, x1: 0, x2: 0, y1: -R, y2: -R }));
  const ticks = Array.from({ length: 60 }, (_, i) =>
    s("line", { class: i % 5 ? "dial-tick" : "dial-tick long", transform: `rotate(${i * 6})`, x1: 0, x2: 0, y1: -R + 8, y2: -R + (i % 5 ? 5 : 3) }));
  const hand = s("g", { class: "dial-hand" },
    s("line", { x1: 0, x2: 0, y1: -R + 14, y2: -R - 4 }), s("circle", { cx: 0, cy: -R + 14, r: 2.6 }));
  const number = s("text", { class: "dial-number", y: 6 }, "–");
  const word = s("text", { class: "dial-word", y: 30 }, "pending");
  const next = s("text", { class: "dial-next", y: -34 }, "");
  const svg = s("svg", { class: "dial", viewBox: "-136 -136 272 272", role: "img", "aria-label": label },
    s("circle", { class: "dial-face", r: R - 11 }), ticks, bars, hand, number, word, next);
  return {
    svg,
    // counts[i] are due in the second that starts at start + i * 1000
    show(start, counts, herd) {
      const most = Math.max(8, ...counts);
      const bySecond = new Map(counts.map((n, i) => [Math.floor(start / 1000 + i) % 60, n]));
      bars.forEach((bar, i) => {
        const n = bySecond.get(i) ?? 0;
        bar.setAttribute("y2", (-R - (n ? 2 + Math.sqrt(n / most) * LONGEST : 0)).toFixed(2));
        bar.classList.toggle("herd", n >= herd && n > 0);
        bar.classList.toggle("none", !n);
      });
    },
    point(now) {
      hand.setAttribute("transform", `rotate(${((now / 1000) % 60) * 6})`);
    },
    words(pending, nextIn) {
      say(number, f.short(pending));
      say(next, nextIn);
    },
  };
}

const rounded = (x, y, width, height) => {
  const r = Math.min(2.5, width / 2, height);
  return `M${x},${y + height}v${-(height - r)}q0,${-r} ${r},${-r}h${width - 2 * r}q${r},0 ${r},${r}v${height - r}z`;
};

export function niceMost(n) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((k) => k * size).find((k) => k >= n) ?? n;
}

// Bars over time. `herds` are indices that stand out. Where one is far above all others, the scale is of square roots.
export function horizon(svg, width, height, tip, data) {
  const { start, width_ms, counts, herds, now } = data;
  const [left, right, top, bottom] = [44, 12, 16, 24];
  const most = Math.max(4, ...counts);
  const filled = counts.filter(Boolean).sort((a, b) => a - b);
  const isRoot = most > 12 * (filled[filled.length >> 1] ?? most);
  const scale = isRoot ? (n) => Math.sqrt(n / most) : (n) => n / niceMost(most);
  const room = height - top - bottom, step = (width - left - right) / counts.length;
  const y = (n) => top + room * (1 - scale(n));
  const lines = isRoot ? [most, most / 4, most / 16] : [1, 0.5].map((k) => niceMost(most) * k);
  svg.append(
    ...lines.map((n) => s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(n), y2: y(n) })),
    ...lines.map((n) => s("text", { class: "axis end", x: left - 8, y: y(n) + 4 }, f.short(n))),
  );
  counts.forEach((n, i) => {
    const x = left + i * step;
    if (n) {
      const size = Math.max(1.5, room * scale(n));
      svg.append(s("path", {
        class: herds.some((herd) => herd.place === i) ? "bar herd" : "bar", d: rounded(x + step * 0.12, top + room - size, Math.max(1, step * 0.76), size),
      }));
    }
    const from = start + i * width_ms;
    svg.append(s("rect", {
      class: "hit", x, y: top, width: step, height: room,
      onpointerenter: () => tip(x + step / 2, y(n) - 58, [`${f.count(n)} due`, `${f.begin(from, width_ms)} – ${f.begin(from + width_ms, width_ms)}`]),
    }));
  });
  timeAxis(svg, start, width_ms * counts.length, left, width - right, top + room);
  if (isRoot) svg.append(s("text", { class: "axis end faint", x: width - right, y: 10 }, "square-root scale"));
  const named = [];
  for (const { place: i, waits, at } of herds) {
    const x = left + (i + 0.5) * step;
    if (named.some((other) => Math.abs(other - x) < 190)) continue;
    named.push(x);
    const isRight = x > width * 0.66;
    svg.append(s("text", { class: isRight ? "herd-word end" : "herd-word", x: isRight ? x - step * 0.7 - 4 : x + step * 0.7 + 4, y: Math.max(y(counts[i]) + 10, top + 10) }, `${f.short(waits)} at ${width_ms < 86_400_000 / 4 ? f.begin(at, Math.min(width_ms, 60_000)) : f.atDay(at)}`));
  }
  return now;
}

function timeAxis(svg, start, range, from, to, y) {
  const width = to - from;
  const step = f.step(range, Math.max(2, Math.floor(width / 90)));
  const zone = new Date(start).getTimezoneOffset() * 60_000;
  svg.append(s("line", { class: "base", x1: from, x2: to, y1: y + 0.5, y2: y + 0.5 }));
  for (let t = Math.ceil((start - zone) / step) * step + zone; t <= start + range; t += step) {
    const x = from + ((t - start) / range) * width;
    if (x > to - 14) break;
    svg.append(s("line", { class: "base", x1: x, x2: x, y1: y, y2: y + 4 }), s("text", { class: "axis middle", x, y: y + 17 }, f.tick(t, range)));
  }
}

// Outcomes by unit of time, stacked: completed below, then expired, then cancelled; the newest on the right.
export const ENDINGS = ["completed", "expired", "cancelled"];

export function stream(svg, width, height, tip, { rows, unit_ms, now }) {
  const [left, right, top, bottom] = [44, 12, 10, 24];
  const totals = rows.map((row) => row[0] + row[1] + row[2]);
  const most = niceMost(Math.max(4, ...totals));
  const room = height - top - bottom, step = (width - left - right) / rows.length;
  const y = (n) => top + room * (1 - n / most);
  svg.append(
    ...[1, 0.5].map((k) => s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(most * k), y2: y(most * k) })),
    ...[1, 0.5].map((k) => s("text", { class: "axis end", x: left - 8, y: y(most * k) + 4 }, f.short(most * k))),
  );
  const first = (Math.floor(now / unit_ms) - rows.length + 1) * unit_ms;
  rows.forEach((row, i) => {
    const x = left + i * step;
    let below = 0;
    row.forEach((n, kind) => {
      if (!n) return;
      svg.append(s("rect", {
        class: `part ${ENDINGS[kind]}`, x: x + step * 0.1, width: Math.max(0.8, step * 0.8),
        y: y(below + n), height: Math.max(0.8, y(below) - y(below + n)),
      }));
      below += n;
    });
    svg.append(s("rect", {
      class: "hit", x, y: top, width: step, height: room,
      onpointerenter: () => tip(x + step / 2, y(totals[i]) - 70, [f.at(first + i * unit_ms), ...row.map((n, kind) => `${f.count(n)} ${ENDINGS[kind]}`)]),
    }));
  });
  timeAxis(svg, first, rows.length * unit_ms, left, width - right, top + room);
}

// How long waits took: bars of those met, the share met by each time with its band, the deadline, and another one.
export function distribution(svg, width, height, tip, { rule, tried }) {
  const [left, right, top, bottom] = [44, 44, 22, 26];
  const { width_ms, counts } = rule.bars;
  const range = width_ms * counts.length;
  const room = height - top - bottom;
  const most = Math.max(1, ...counts);
  const x = (ms) => left + (Math.min(ms, range) / range) * (width - left - right);
  const y = (share) => top + room * (1 - share);
  for (const share of [0, 0.5, 1]) {
    svg.append(s("line", { class: share ? "grid-line" : "base", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      s("text", { class: "axis", x: width - right + 8, y: y(share) + 4 }, f.percent(share, 0)));
  }
  const limit = tried ?? rule.within_ms ?? Infinity;
  counts.forEach((n, i) => {
    const size = (n / most) * room * 0.86;
    if (n) {
      svg.append(s("path", {
        class: (i + 0.5) * width_ms <= limit ? "bar met" : "bar late",
        d: rounded(x(i * width_ms) + 0.8, top + room - Math.max(1, size), Math.max(1, x(width_ms) - left - 1.6), Math.max(1, size)),
      }));
    }
    svg.append(s("rect", {
      class: "hit", x: x(i * width_ms), y: top, width: x(width_ms) - left, height: room,
      onpointerenter: () => tip(x((i + 0.5) * width_ms), top, [`${f.count(n)} met`, `after ${f.span(i * width_ms)} – ${f.span((i + 1) * width_ms)}`]),
    }));
  });
  const curve = [[0, 0, 0, 0], ...rule.curve.filter(([ms]) => ms <= range)];
  const seen = Math.min(range, rule.seen_ms ?? range);
  if (seen > curve.at(-1)[0]) curve.push([seen, ...curve.at(-1).slice(1)]);
  if (rule.curve.length) {
    const stairs = (column) => curve.map((point, i) => `${i ? `H${x(point[0]).toFixed(1)}` : `M${x(point[0]).toFixed(1)},${y(point[column]).toFixed(1)}`}V${y(point[column]).toFixed(1)}`).join("");
    const band = curve.map(([ms, , low]) => `${x(ms).toFixed(1)},${y(low).toFixed(1)}`).concat([...curve].reverse().map(([ms, , , high]) => `${x(ms).toFixed(1)},${y(high).toFixed(1)}`));
    svg.append(s("polygon", { class: "band", points: band.join(" ") }), s("path", { class: "curve", d: stairs(1) }));
  }
  if (rule.within_ms) mark(svg, x(rule.within_ms), top, room, "deadline", `deadline ${f.span(rule.within_ms)}`, width);
  if (tried && tried !== rule.within_ms) mark(svg, x(tried), top, room, "tried", f.span(tried), width);
  const step = f.step(range, Math.max(2, Math.floor((width - left - right) / 80)));
  for (let ms = 0; ms <= range; ms += step) {
    svg.append(s("text", { class: "axis middle", x: x(ms), y: top + room + 18 }, ms ? f.span(ms) : "0"));
  }
  svg.append(s("text", { class: "axis end", x: left - 8, y: y(0.86) + 4 }, f.short(most)));
}

function mark(svg, x, top, room, kind, text, width) {
  const isRight = x > width * 0.7;
  svg.append(
    s("line", { class: `mark-line ${kind}`, x1: x, x2: x, y1: top - 8, y2: top + room }),
    s("text", { class: `mark-word ${kind}${isRight ? " end" : ""}`, x: isRight ? x - 6 : x + 6, y: kind === "tried" ? top + 8 : top - 8 }, text),
  );
}

// One wait from its opening to its deadline: what came, where it stands, how long such waits take.
export function life(svg, width, height, tip, { wait, steps, outlook, now, until }) {
  const [left, right, y] = [14, 14, 62];
  const end = Math.max(until, wait.outcome?.at ?? 0, ...steps.map((step) => step.at));
  const start = Math.min(wait.opened_at, ...steps.map((step) => step.at));
  const range = Math.max(1, end - start);
  const x = (ms) => left + ((ms - start) / range) * (width - left - right);
  const stand = wait.outcome ? wait.outcome.at : Math.min(now, end);
  svg.append(
    s("line", { class: "life-rest", x1: x(wait.opened_at), x2: x(until), y1: y, y2: y }),
    s("line", { class: `life-done ${wait.status}`, x1: x(wait.opened_at), x2: x(stand), y1: y, y2: y }),
    s("line", { class: "life-end", x1: x(until), x2: x(until), y1: y - 14, y2: y + 14 }),
    s("text", { class: "axis", x: left, y: y + 34 }, f.tick(start, range)),
    s("text", { class: "axis end", x: width - right, y: y + 34 }, f.tick(end, range)),
    s("text", { class: "axis end strong", x: Math.max(x(until), 60), y: y - 22 }, "deadline"),
  );
  if (outlook && !wait.outcome) {
    for (const [name, ms] of [["p50", outlook.p50_ms], ["p90", outlook.p90_ms]]) {
      if (ms !== null && now + ms <= end) {
        svg.append(s("path", { class: "life-likely", d: `M${x(now + ms)},${y - 9}v18` }),
          s("text", { class: "axis middle likely", x: x(now + ms), y: y - 14 }, name));
      }
    }
  }
  steps.filter((step) => step.what === "signal").forEach((step) => {
    const missed = step.note !== "counted";
    svg.append(s("circle", {
      class: `life-signal ${missed ? "missed" : "counted"}`, cx: x(step.at), cy: y, r: 5.5,
      onpointerenter: () => tip(x(step.at), y - 64, [step.kind, `${f.at(step.at)}, ${step.note}`]),
    }));
  });
  if (!wait.outcome) svg.append(s("circle", { class: "life-now", cx: x(stand), cy: y, r: 4 }));
}

// A share as a ring.
export function ring(share, text) {
  const R = 30, around = 2 * Math.PI * R;
  return s("svg", { class: "ring", viewBox: "-38 -38 76 76", role: "img", "aria-label": `${text} completed` },
    s("circle", { class: "ring-rest", r: R }),
    s("circle", { class: "ring-part", r: R, transform: "rotate(-90)", "stroke-dasharray": `${around * (share ?? 0)} ${around}` }),
    s("text", { class: "ring-word", y: 5 }, text));
}

export function spark(values, width = 120, height = 28) {
  const most = Math.max(1, ...values);
  const points = values.map((n, i) => `${((i / Math.max(1, values.length - 1)) * width).toFixed(1)},${(height - 2 - (n / most) * (height - 4)).toFixed(1)}`);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polygon", { points: `0,${height} ${points.join(" ")} ${width},${height}` }), s("polyline", { points: points.join(" ") }));
}
