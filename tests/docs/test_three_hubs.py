"""The first lines of the README, with a hub in memory, with a data folder and with a URL: one argument differs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from service.client.local import local_service

README = (Path(__file__).parents[2] / "README.md").read_text()
LINES = re.search(r'```python\n(.*?sj\.Hub\("orders"\).*?)```', README, re.DOTALL)
HUBS = re.findall(r'^\| `(sj\.Hub\("orders".*?\))` \|', README, re.MULTILINE)


def test_the_same_lines_say_the_same_in_memory_in_a_folder_and_in_a_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert LINES is not None
    assert len(HUBS) == 3
    said = []
    with local_service(tmp_path / "service", clock="system") as local:
        for hub in HUBS:
            here = hub.replace("http://127.0.0.1:7420", local.url).replace("data/", str(tmp_path / "data"))
            exec(LINES[1].replace('sj.Hub("orders")', here), {})
            said.append(re.sub(r"29m59s\d*m?s?|\d+ ms|at \S+ \S+ UTC|by \w+", "...", capsys.readouterr().out))
    assert said[0].replace("30 min", "...") == said[1].replace("30 min", "...") == said[2].replace("30 min", "...")
    assert "missing packed" in said[0]
