// Numbers, durations and times for people.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(Math.round(n));

export function short(n) {
  if (n < 100_000) return count(n);
  if (n < 1_000_000) return `${trim(n / 1_000)}k`;
  if (n < 1_000_000_000) return `${trim(n / 1_000_000)}M`;
  return `${trim(n / 1_000_000_000)}G`;
}

const trim = (n) => (n >= 100 ? Math.round(n).toString() : n.toFixed(n >= 10 ? 1 : 2).replace(/\.?0+$/, ""));

const UNITS = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]];

// "2 d 4 h", "18 min", "3.2 s", "40 ms": the two largest units
export function span(ms) {
  if (ms === null || ms === undefined) return "–";
  const sign = ms < 0 ? "−" : "";
  let rest = Math.abs(ms);
  if (rest < 1_000) return `${sign}${Math.round(rest)} ms`;
  if (rest < 10_000) return `${sign}${(rest / 1_000).toFixed(1).replace(/\.0$/, "")} s`;
  const parts = [];
  for (const [size, unit] of UNITS) {
    const n = Math.floor(rest / size);
    if (n || parts.length) {
      if (n) parts.push(`${n} ${unit}`);
      rest -= n * size;
      if (parts.length === 2 || (parts.length && !n)) break;
    }
  }
  return sign + parts.join(" ");
}

// what is left, steady while it counts down: "1:04:09", "4:09", "0:09"
export function left(ms) {
  if (ms <= 0) return "0:00";
  const s = Math.floor(ms / 1_000);
  if (s >= 172_800) return `${Math.floor(s / 86_400)} days`;
  const pad = (n) => String(n).padStart(2, "0");
  const [hours, minutes, seconds] = [Math.floor(s / 3_600), Math.floor(s / 60) % 60, s % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(seconds)}` : `${minutes}:${pad(seconds)}`;
}

export const percent = (share, digits = 1) =>
  share === null || share === undefined ? "–" : `${(share * 100).toFixed(digits).replace(/\.0$/, "")} %`;

export function bytes(n) {
  if (n < 1_000) return `${n} B`;
  const [size, unit] = n < 1e6 ? [1e3, "kB"] : n < 1e9 ? [1e6, "MB"] : n < 1e12 ? [1e9, "GB"] : [1e12, "TB"];
  return `${trim(n / size)} ${unit}`;
}

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const at = (ms) => second.format(ms);
export const atDay = (ms) => `${day.format(ms)}, ${hour.format(ms)}`;
export const atFull = (ms) => full.format(ms);

// a tick of an axis that is so long
export function tick(ms, range) {
  if (range <= 600_000) return second.format(ms);
  return range <= 86_400_000 * 1.5 ? hour.format(ms) : range <= 86_400_000 * 8 ? atDay(ms) : day.format(ms);
}

// when a bucket of that width begins
export const begin = (ms, width) => (width < 60_000 ? second.format(ms) : width < 86_400_000 / 4 ? hour.format(ms) : atDay(ms));

// a round number of milliseconds between ticks
export function step(range, most) {
  const sizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5,
    72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 12096e5, 2592e6, 7776e6, 31536e6, 157680e6];
  return sizes.find((size) => range / size <= most) ?? range / most;
}
