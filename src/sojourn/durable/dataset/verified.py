"""What came of a verification."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """An outcome that was told and did not come out, or came out differently."""

    wait: str
    told: str
    law: str

    def __str__(self) -> str:
        return f"{self.wait}: {self.told}; by the law: {self.law}"


class Verified(NamedTuple):
    """What came of it. `differences` has the first of them."""

    told: int
    """Outcomes that were told."""
    checked: int
    """Of these, outcomes of waits whose opening is in the folder too."""
    different: int
    pending: int
    """Waits that have not ended as of the last record, and that nothing was told of."""
    untold: int
    """Waits that have ended, and were about to be told: so it is for a moment, in a grace, or after a crash."""
    unchecked: int
    """Outcomes of waits that were opened before what the folder has kept."""
    as_of: int
    """The time of the last record."""
    engines: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """Whether every outcome that was told and could be checked came out again, at its time."""
        return not self.different
