"""Write the log, replay it on Spark and in this process, and say where the report is."""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn.cli import app_for
from sojourn.errors import SourceError

from .log import write_events

FOLDER = Path("build/flights")
OPTIONS = {
    "--rule": Path(__file__).with_name("on-time.toml"),
    "--engine": "both",
    "--what-if": "-15 min, +15 min, +30 min, +1 h, +3 h",
    "--by": "airline",
    "--out": FOLDER / "outcomes",
    "--summary": FOLDER / "summary.json",
    "--report": FOLDER / "report.html",
}


def main() -> None:
    try:
        events = write_events(FOLDER / "events.parquet")
    except SourceError as error:
        sys.exit(f"error: {error}")
    options = [str(part) for option in OPTIONS.items() for part in option]
    app_for(["replay"])(["replay", str(events), *options, *sys.argv[1:]], prog_name="sojourn")


if __name__ == "__main__":
    main()
