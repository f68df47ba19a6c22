"""Arrow without pandas: it is not imported, and is there for who asks for it."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
from sojourn.pipeline.no_pandas import without_pandas

without_pandas()
import pyarrow as pa
import pyarrow.dataset

assert pa.array([1, 2]).to_pylist() == [1, 2]
assert "pandas" not in sys.modules
assert pa.table({"a": [1]}).to_pandas()["a"].tolist() == [1]
assert "pandas" in sys.modules
without_pandas()
"""

REPLAY = """
import sys
from sojourn.cli import app_for

app_for(["replay"])(["replay", "--help"], standalone_mode=False)
import sojourn.pipeline.spark

print("durable" in " ".join(name for name in sys.modules if name.startswith("sojourn.")), "pandas" in sys.modules)
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_arrow_finds_pandas_only_when_it_is_asked_for() -> None:
    run(LOOK)


def test_the_command_line_loads_neither_the_durable_hub_nor_pandas_before_it_must() -> None:
    assert run(REPLAY).splitlines()[-1] == "False False"
