// Questions and news: a confirmation before anything is changed, the token, and short messages.

import { h, put } from "./dom.js";
import { setToken, token } from "./api.js";

export function toast(text, kind = "info") {
  const box = h("div", { class: `toast ${kind}` }, h("span", {}, text),
    h("button", { type: "button", class: "quiet icon", "aria-label": "Close", onclick: () => box.remove() }, "×"));
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), kind === "bad" ? 12_000 : 5_000);
}

export const refused = (error) => {
  if (error?.name !== "AbortError" && error?.status !== 0) toast(error?.message ?? String(error), "bad");
};

// Asks; true if the answer is yes. `inside` may be elements, such as what it is about.
export function confirm(title, inside, yes, kind = "") {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); dialog.close("yes"); } },
        h("h2", { id: "dialog-title" }, title),
        h("div", { class: "dialog-body" }, inside),
        h("div", { class: "actions" },
          h("button", { type: "button", class: "quiet", onclick: () => dialog.close("no") }, "Back"),
          h("button", { type: "submit", class: `primary ${kind}`, id: "dialog-yes" }, yes))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

let asking = null;

// The token, once for all who need it at the same time.
export function askForToken(why) {
  asking ??= new Promise((resolve) => {
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "token-title", oncancel: (event) => event.preventDefault() },
      h("form", { onsubmit: (event) => { event.preventDefault(); setToken(input.value.trim()); dialog.close(); dialog.remove(); asking = null; resolve(); } },
        h("h2", { id: "token-title" }, "Token"),
        h("p", { class: "dim" }, token() ? `That token did not do: ${why}` : "This service wants to know who asks. The token stays in this tab, until it is closed."),
        h("label", {}, "Bearer token", input),
        h("div", { class: "actions" }, h("button", { type: "submit", class: "primary" }, "Go on"))));
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
  return asking;
}

export function help() {
  const rows = [["1 – 5", "panels"], ["/", "search waits"], ["t", "light or dark"], ["Esc", "close"], ["?", "this list"]];
  const list = h("dl", { class: "keys" }, rows.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]));
  confirm("Keys", list, "Good");
}

export function busy(button, work) {
  button.disabled = true;
  return Promise.resolve(work()).catch(refused).finally(() => { button.disabled = false; });
}

export const empty = (title, text) => h("div", { class: "empty" }, h("h3", {}, title), h("p", {}, text));
export const replaced = (element, ...children) => put(element, ...children);
