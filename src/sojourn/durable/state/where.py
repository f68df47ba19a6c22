"""Which waits, as a question to the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Where(NamedTuple):
    """Which waits: of these plans, on a key that starts so, due at or after an instant, or before one."""

    plans: list[int] | None = None
    key_prefix: str | None = None
    due_from: int | None = None
    due_before: int | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """What follows the columns in a SELECT, and its arguments."""
        tables, tests, arguments = "waits", ["1"], list[Any]()
        if self.key_prefix:
            until = "" if (end := end_of_prefix(self.key_prefix)) is None else " AND key < ?"
            tables = f"(SELECT DISTINCT seq FROM by_key WHERE key >= ?{until}) JOIN waits USING (seq)"
            arguments += [self.key_prefix] if end is None else [self.key_prefix, end]
        if self.plans is not None:
            tests.append(f"plan IN ({marks(self.plans)})")
            arguments += self.plans
        for sign, instant in ((">=", self.due_from), ("<", self.due_before)):
            if instant is not None:
                tests.append(f"due {sign} ?")
                arguments.append(instant)
        return f"FROM {tables} WHERE {' AND '.join(tests)}", arguments


def end_of_prefix(prefix: str) -> str | None:
    """The first text behind all that start so, as UTF-8 orders them; None if there is none."""
    head, last = prefix[:-1], ord(prefix[-1])
    if last == 0x10FFFF:
        return end_of_prefix(head) if head else None
    return head + chr(0xE000 if last == 0xD7FF else last + 1)


def marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
