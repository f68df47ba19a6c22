"""A plan: a rule, prepared for many waits of the same kind; and events, prepared for plans."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import RuleError
from ..rules import Event, Leaf, Reached, Rule, Seen, source_error, value_error
from ..rules.account import Progress, words

if TYPE_CHECKING:
    from ..rules.outcome import Ending

PLAIN = frozenset({type(None), str, int, float, bool, Decimal})


class Texts(dict[tuple["Ending", str], tuple[str, str | None, str]]):
    """For a wait on a single signal, by how and by what it ended: the rule's name, what was missing, what was seen.

    All waits of the rule that ended alike share these.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __missing__(self, ended: tuple[Ending, str]) -> tuple[str, str | None, str]:
        ending, decided_by = ended
        seen = Progress(int(decided_by in self._rule.places_by_kind))
        self[ended] = texts = (self._rule.name, *words(self._rule, ending, 0, lambda leaf: seen))
        return texts


class WaitPlan:
    """What every wait under one rule shares. `single` is the kind that decides alone, in the commonest case."""

    __slots__ = ("_counts_only", "_kinds_by_source", "kinds", "rule", "single", "texts", "within_ms")

    def __init__(self, rule: Rule) -> None:
        if not isinstance(rule.within, int):
            raise RuleError(
                f"rule {rule.name!r}: a wait has no opening event to read {rule.within} from; give a duration"
            )
        self.rule = rule
        self.within_ms = rule.within
        others = [kind for kind in (rule.cancels, rule.keeps_alive) if kind is not None]
        self.kinds = frozenset([*rule.places_by_kind, *others])
        is_single = isinstance(rule.until, Seen) and rule.until == Seen(rule.until.kind) and not others
        self.single = rule.until.kind if is_single and isinstance(rule.until, Seen) else None
        self._kinds_by_source = frozenset(leaf.kind for leaf in rule.leaves if _is_by_source(leaf))
        self._counts_only = all(isinstance(leaf, Seen) for leaf in rule.leaves) and not self._kinds_by_source
        self.texts = Texts(rule)

    def refusal(self, event: Event) -> str | None:
        """Why waits under this rule cannot use an event of one of their kinds; None if they can."""
        if self._counts_only:
            return None
        by_source = source_error(event.source) if event.kind in self._kinds_by_source else None
        return by_source or value_error(self.rule.until, event)


def plan_for(until: Any, within: Any, rule: Any) -> WaitPlan:
    """The plan that the arguments of `wait` ask for: a rule, or a condition and a duration."""
    if rule is None:
        return WaitPlan(Rule("wait", "wait", until, within))
    if not isinstance(rule, Rule):
        raise TypeError(f"rule={rule!r} is not a Rule; give one, or until and within instead")
    if until is not None or within is not None:
        raise RuleError(
            f"until={until!r}, within={within!r} beside rule {rule.name!r}, which says both itself: "
            "leave them out, or wait without the rule"
        )
    return WaitPlan(rule)


def parts_of(signal: Any) -> tuple[Any, Any, Any, Any]:
    """Key, kind, source and value of what `signal_many` was given."""
    if not isinstance(signal, tuple | list) or not 2 <= len(signal) <= 4:
        raise TypeError(f"signal={signal!r} is neither an Event nor (key, kind[, source[, value]]); give one of these")
    return (*signal, None, None)[:4]


def check_several(keys: object) -> None:
    """A text is not taken for its letters."""
    if isinstance(keys, str | bytes):
        raise ValueError(
            f"keys={keys!r} is one text; give a list of keys, as in [{keys!r}], or call wait({keys!r}, ...)"
        )


def plain_event(event: Event) -> Event:
    """The event, with nothing but the key in it that could run other people's code: to be read under a lock."""
    key, kind, at, source, value, columns = event
    if columns is None and type(kind) is str and type(source) in PLAIN and type(value) in PLAIN:
        return event
    if columns is not None:
        columns = {plain(name): plain(content) for name, content in columns.items()}
    return Event(key, plain(kind), at, plain(source), plain(value), columns)


def plain(thing: Any) -> Any:
    """The same text or number, without a subclass's own methods; of anything else, what it looks like."""
    if type(thing) in PLAIN:
        return thing
    if isinstance(thing, str):
        return str.__str__(thing)
    if isinstance(thing, int):
        return int.__int__(thing)
    if isinstance(thing, Decimal):
        return Decimal(thing)
    return float.__float__(thing) if isinstance(thing, float) else Foreign(repr(thing))


class Foreign:
    """Stands for something that no rule can read."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def refused(event: Event, reason: str) -> RuleError:
    return RuleError(f"signal {event.kind!r} to {event.key!r}: {reason}")


def _is_by_source(leaf: Leaf) -> bool:
    return isinstance(leaf, Reached) or (isinstance(leaf, Seen) and leaf.distinct is not None)
