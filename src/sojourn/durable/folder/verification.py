"""`verify`: everything in a data folder, replayed under the law. Each outcome that was told must come out again."""

from __future__ import annotations

import os
from typing import Any, Literal

from ...errors import ConfigError
from ..dataset.archive import need_arrow
from ..dataset.verified import Verified
from ..log.files import Files
from ..log.folder import opened

MOST_DIFFERENCES = 20


def verify(
    data: str | os.PathLike[str] | Files,
    *,
    engine: Literal["local", "spark", "both"] = "local",
    spark: Any = None,
) -> Verified:
    """Replay all that a data folder has under the law: in this process, on Spark, or on both.

    For each outcome that was told, the law must give the same one, at the same time, from what is in the log; and of
    every other wait, that it is pending as of the last record, or has ended and was about to be told. Works beside the
    owner. Needs `sojourn[pipeline]`; with `engine="spark"` or "both", a session.
    """
    need_arrow("verify")
    if engine not in ("local", "spark", "both"):
        raise ConfigError(f'engine={engine!r} is not known; allowed are "local", "spark" and "both"')
    if engine != "local" and spark is None:
        raise ConfigError(f"engine={engine!r} needs a Spark session; give one with spark=")
    from ..dataset.verify import ask, compare, judge  # noqa: PLC0415  (Arrow is an extra)

    asked = ask(opened(data))
    engines = ("local", "spark") if engine == "both" else (engine,)
    results = [compare(asked, judge(asked, spark if one == "spark" else None), MOST_DIFFERENCES) for one in engines]
    counts, differences = max(results, key=lambda result: result[0]["different"])
    return Verified(**counts, as_of=asked.history.as_of, engines=engines, differences=tuple(differences))
