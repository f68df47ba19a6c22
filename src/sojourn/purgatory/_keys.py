"""What both builds of the purgatory say about keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from .._arguments import items_of

MIX = 0x9E3779B97F4A7C15
"""Knuth's multiplier: spreads a hash over its upper bits."""


def distinct(keys: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """The keys, each once, in their order."""
    if isinstance(keys, str | bytes):
        raise ValueError(f"keys={keys!r} is one text; give a list of keys, as in [{keys!r}]")
    try:
        found = tuple(dict.fromkeys(keys))
    except TypeError:
        items_of("keys", keys, "give a list of keys")  # says so if that is why; a key that cannot be hashed is another
        raise
    if not found:
        raise ValueError("keys is empty; an operation that watches no key could only expire: use a timer for that")
    return found


def not_an_operation(operation: object) -> TypeError:
    return TypeError(f"operation={operation!r} is not a DelayedOperation of this build; give one, or of a subclass")
