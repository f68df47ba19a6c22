// Outcomes as they come, for whoever is on the page.

const listeners = new Set();

export const onOutcome = (element, call) => listeners.add({ element, call, wasThere: false });

export function told(outcome) {
  for (const listener of listeners) {
    if (listener.element.isConnected) {
      listener.wasThere = true;
      listener.call(outcome);
    } else if (listener.wasThere) listeners.delete(listener);
  }
}
