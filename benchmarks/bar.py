"""A bar: what we promise, beside what was measured."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

SMALL, N, LARGE = 10_000, 100_000, 1_000_000


@dataclass(frozen=True)
class Bar:
    """One promise: `measured` must be `sign` the `required`; None where the run has no such figures."""

    what: str
    measured: float | None
    sign: str
    required: float | None

    @property
    def verdict(self) -> str:
        """pass, FAIL or not measured."""
        if self.measured is None or self.required is None:
            return "not measured"
        return "pass" if _SIGNS[self.sign](self.measured, self.required) else "FAIL"

    def cells(self) -> list[str]:
        """The line of the table."""
        return [self.what, _figure(self.measured), f"{self.sign} {_figure(self.required)}", self.verdict]


_SIGNS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


def over(above: float | None, below: float | None) -> float | None:
    """The ratio, where both were measured."""
    return None if above is None or not below else above / below


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
