"""Write the log, replay it on Spark and in this process, and say where the report is."""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn.cli import app
from sojourn.errors import SourceError

from .log import write_events

RULE = Path(__file__).with_name("on-time.toml")
FOLDER = Path("build/flights")
WHAT_IF = "-15 min, +0 min, +15 min, +30 min, +1 h, +3 h"


def main() -> None:
    try:
        events = write_events(FOLDER / "events.parquet")
    except SourceError as error:
        sys.exit(f"error: {error}")
    app(
        ["replay", str(events), "--rule", str(RULE), "--engine", "both", "--what-if", WHAT_IF, "--by", "airline"]
        + ["--out", str(FOLDER / "outcomes"), "--summary", str(FOLDER / "summary.json")]
        + ["--report", str(FOLDER / "report.html"), *sys.argv[1:]],
        prog_name="sojourn",
    )


if __name__ == "__main__":
    main()
