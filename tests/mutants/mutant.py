"""What a planted bug is."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """An edit of one file: `old`, which stands there exactly once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str

    @property
    def is_compiled(self) -> bool:
        return self.file.endswith((".pyx", ".pxd", ".h"))
