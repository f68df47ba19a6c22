"""Java's class archive, which the first command on Spark leaves behind: made before the next command is timed."""

from __future__ import annotations

import time

LONGEST_S = 120
POLL_S = 0.2


def wait_for_archive() -> None:
    """Until no Java is writing one any more; where that takes too long, it has been given up."""
    try:
        from sojourn.cli.spark.class_archive import archive_for  # noqa: PLC0415  (needs PySpark)
        from sojourn.cli.spark.java import find_java  # noqa: PLC0415

        java = find_java()
        archive = None if java is None else archive_for(java)
    except ImportError:
        return
    while archive is not None and archive.is_under_way(LONGEST_S):
        time.sleep(POLL_S)
