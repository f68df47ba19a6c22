"""The rules of a stream in a shard: events travel once, for all of them, and each rule takes those that it can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ....rules import Rule, Seen
from ...columns.normal import deadline_column, number_column
from ...columns.numbers import kernel_numbers
from ...kernel import UNREADABLE
from ...kernel.columns import is_readable, number_of
from ...kernel.search import Flags, Ints
from ...schema import AT, KIND
from .shape import Shape


@dataclass(frozen=True)
class Part:
    """One rule: `whole` is the shape of what travels, `shape` that of what the rule takes of it."""

    whole: Shape
    shape: Shape

    def events(self, fresh: pa.RecordBatch) -> pa.RecordBatch:
        """Those that the rule can use, in its own columns, with its own codes of kinds."""
        if self._is_all:
            return fresh
        code: Ints = self._codes[fresh[KIND].to_numpy()]
        chosen = np.flatnonzero(self._is_used(fresh, code))
        taken = fresh.take(pa.array(chosen)) if len(chosen) < fresh.num_rows else fresh
        columns = {KIND: pa.array(code[chosen])}
        arrays = [columns[name] if name in columns else taken[self._named(name)] for name in self.shape.fresh.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.shape.fresh)

    @property
    def _is_all(self) -> bool:
        """Where there is no other rule, what travels is what this one can use."""
        return len(self.whole.plan.rules) == 1 and self.shape.since is None

    @cached_property
    def _codes(self) -> Ints:
        """By the code of a kind among those of all rules: its code here, -1 if the rule does not name it."""
        own = self.shape.plan.kinds
        return np.array([own.index(kind) if kind in own else -1 for kind in self.whole.plan.kinds], np.int16)

    @cached_property
    def _names(self) -> dict[str, str]:
        own, whole = self.shape.plan, self.whole.plan
        numbers = {number_column(i): number_column(whole.numbers.index(name)) for i, name in enumerate(own.numbers)}
        return numbers | {
            deadline_column(i): deadline_column(whole.withins.index(w)) for i, w in enumerate(own.withins)
        }

    def _named(self, name: str) -> str:
        """What a column of this rule is called among those that travel."""
        return self._names.get(name, name)

    def _is_used(self, fresh: pa.RecordBatch, code: Ints) -> Flags:
        """As `reasons.rule_checks` has it: other rules may be able to use an event that this one cannot."""
        rule, plan, is_used = self.shape.rule, self.shape.plan, code >= 0
        if self.shape.since is not None:
            is_used &= fresh[AT].to_numpy() > self.shape.since
        for leaf in rule.leaves:
            if not isinstance(leaf, Seen):
                column = fresh[self._named(number_column(plan.numbers.index(number_of(leaf))))]
                is_used &= (code != plan.kinds.index(leaf.kind)) | is_readable(leaf, kernel_numbers(column))
        if plan.withins:
            is_missing = fresh[self._named(deadline_column(0))].to_numpy() == UNREADABLE
            is_used &= ~((code == plan.kinds.index(rule.opens)) & is_missing)
        return is_used


class Removed(NamedTuple):
    """A rule that the stream no longer has: it has looked at events up to `at`.

    `is_told` if what was pending then is told as cancelled; else it is left.
    """

    shape: Shape
    at: int
    is_told: bool


@dataclass(frozen=True)
class Ruleset:
    """The rules that a stream has, and those that it had. `since` is by name, for rules that were added later."""

    whole: Shape
    since: Mapping[str, int] = field(default_factory=dict)
    removed: tuple[Removed, ...] = ()

    @cached_property
    def parts(self) -> dict[str, Part]:
        """By the id of the rule's shape."""
        shapes = [self.whole.of_rule(rule, self.since.get(rule.name)) for rule in self.whole.plan.rules]
        return {shape.id: Part(self.whole, shape) for shape in shapes}

    @cached_property
    def gone(self) -> dict[str, Removed]:
        return {rule.shape.id: rule for rule in self.removed}


def names_kinds(rule: Rule, kinds: tuple[str, ...]) -> Flags:
    """By the code of a kind: whether the rule names it."""
    named = {rule.opens, *rule.places_by_kind, rule.cancels, rule.keeps_alive}
    return np.array([kind in named for kind in kinds])
