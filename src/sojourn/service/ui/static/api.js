// The service, asked with the token that was given for this tab; and its events, with fetch, so that they carry it too.

const KEY = "sojourn-token";
let askForToken = null;
let reached = () => {};

export const onTokenNeeded = (ask) => { askForToken = ask; };
export const onReach = (call) => { reached = call; };
export const token = () => sessionStorage.getItem(KEY);
export const setToken = (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY));

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the service answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

const headers = (more = {}) => ({ ...(token() ? { authorization: `Bearer ${token()}` } : {}), ...more });

export async function ask(method, path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: headers(body === undefined ? {} : { "content-type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    reached(false);
    throw new Refusal(0, { detail: "the service cannot be reached" });
  }
  reached(true);
  const text = await response.text();
  let shape = {};
  try {
    shape = text ? JSON.parse(text) : {};
  } catch {
    shape = { detail: `the service answered ${response.status}, and not in JSON` };
  }
  if (response.status === 401 && askForToken) {
    await askForToken(shape.detail);
    return ask(method, path, body, signal);
  }
  if (!response.ok) throw new Refusal(response.status, shape);
  return shape;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body) => ask("POST", path, body);
export const id = (text) => encodeURIComponent(text);

export function query(path, values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

const MOST_PER_SECOND = 1_500;
const SHOWN = 20;

// Follows the outcomes after a number, for ever: what was missed while the line was down comes afterwards. A herd is
// not followed one by one: nobody could read it, so one goes on behind it. Nor is anything while nobody looks.
export async function follow(after, onOutcome, onState) {
  let last = after;
  for (;;) {
    try {
      const line = new AbortController();
      const response = await fetch(`v1/outcomes?after=${last}`, { headers: headers({ accept: "text/event-stream" }), signal: line.signal });
      if (response.status === 410) last = (await get("v1/now")).last_number;
      if (!response.ok) throw new Error(String(response.status));
      onState(true);
      let [heard, since] = [0, performance.now()];
      for await (const event of events(response.body)) {
        if (event.id) last = Number(event.id);
        if (event.name === "outcome") onOutcome(JSON.parse(event.data));
        if (performance.now() - since > 1_000) [heard, since] = [0, performance.now()];
        heard += 1;
        if (heard > MOST_PER_SECOND || document.hidden) {
          line.abort();
          await until(() => !document.hidden);
          await pause(1_000);
          last = Math.max(last, (await get("v1/now?within=1h")).last_number - SHOWN);
          break;
        }
      }
      if (line.signal.aborted) continue;
    } catch {
      // tried again below
    }
    onState(false);
    await pause(1_500);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(holds) {
  while (!holds()) await pause(500);
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const event = { id: null, name: "message", data: "" };
      for (const line of buffer.slice(0, end).split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      buffer = buffer.slice(end + 2);
      yield event;
    }
  }
}
