"""What Spark's own logs in a checkpoint say: which micro-batches there were, and under which watermark."""

from __future__ import annotations

import json

from .files import Files


def last_batch(files: Files, folder: str) -> int | None:
    """The last micro-batch that was completed."""
    return _last(files, f"{folder}/commits")


def unfinished_batch(files: Files, folder: str) -> int | None:
    """The micro-batch that was begun and not completed, if there is one."""
    begun, done = _last(files, f"{folder}/offsets"), last_batch(files, folder)
    return begun if begun is not None and (done is None or begun > done) else None


def watermark(files: Files, folder: str, batch: int) -> int | None:
    """The watermark that the next micro-batch has."""
    ms = int(json.loads((files.read(f"{folder}/commits/{batch}") or "").splitlines()[1])["nextBatchWatermarkMs"])
    return ms or None


def watermark_of(files: Files, folder: str, batch: int) -> int | None:
    """The watermark that a micro-batch had: up to then all is told that ended."""
    ms = int(json.loads((files.read(f"{folder}/offsets/{batch}") or "").splitlines()[1])["batchWatermarkMs"])
    return ms or None


def _last(files: Files, log: str) -> int | None:
    return max((int(name) for name in files.names(log) if name.isdecimal()), default=None)
