"""When to try again, and when no more: from seconds to hours, over three days."""

from __future__ import annotations

from random import Random

FIRST_MS = 5_000
FACTOR = 4
LONGEST_MS = 6 * 3_600_000
MOST_ATTEMPTS = 18
"""After that it is a dead letter: the pauses between them add up to a little less than three days."""
JITTER = 0.2
"""By how much a pause varies, so that deliveries that failed together are not repeated together."""


def pause_ms(attempts: int, random: Random, at_least_ms: int = 0) -> int | None:
    """How long to wait after so many attempts; None if that was the last. `at_least_ms` is what the receiver asks."""
    if attempts >= MOST_ATTEMPTS:
        return None
    planned: int = min(FIRST_MS * FACTOR ** (attempts - 1), LONGEST_MS)
    jittered = round(planned * random.uniform(1 - JITTER, 1 + JITTER))
    return max(jittered, min(at_least_ms, LONGEST_MS))
