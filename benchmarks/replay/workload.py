"""The replay workload: a log of n events, a cold command from file to written outcomes and counts.

Nothing is warm but the page cache, and nothing is left out: the interpreter, imports, Spark's start and its end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..child import UnavailableError
from ..runner import Part, Spec, Workload, by_name
from .commands import PEERS, Run


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    peer = PEERS[spec.name]
    try:
        version = peer.version()
        from .data import FOLDER, log_path  # noqa: PLC0415  (NumPy and Arrow)
        from .measure import measure  # noqa: PLC0415
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    log = log_path(n)
    with tempfile.TemporaryDirectory(prefix="replay-", dir=FOLDER) as folder:
        row = measure(peer, Run(log, n, Path(folder)))
    return {"version": version, "rows": [{"op": part, **row}]}


def _check(peers: Sequence[str]) -> None:
    """Raises SystemExit unless they all write the same."""
    try:
        from .check import check  # noqa: PLC0415  (NumPy and Arrow)
    except ImportError as missing:
        raise SystemExit(f"{missing.name} is not installed; pip install 'sojourn[bench,cli]'") from None
    check(peers)


REPLAY = Workload("replay", by_name(*(Spec(name) for name in PEERS)), {"replay": Part(3)}, _work, _check)
