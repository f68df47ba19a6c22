// Webhooks: where outcomes are delivered, what failed, and trying again now.

import * as api from "./api.js";
import { h, put } from "./dom.js";
import { empty } from "./dialogs.js";

export function panel() {
  const list = h("div", { id: "webhooks" });
  put(list, empty("No webhooks", "POST /v1/webhooks registers a URL for every outcome, or for those of a rule."));
  void api;
  return h("div", {}, list);
}
