"""`docs/tutorial/one-rule-three-engines.md` as it stands: files written, commands run, output compared."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import sojourn
from service.running import Running, running

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial" / "one-rule-three-engines.md").read_text()
BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.java
def test_the_same_rule_gives_the_same_outcomes_over_a_log_on_a_stream_and_in_a_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events").mkdir()
    said, commands = "", 0
    with running(Path("data"), "--clock", "manual") as server:
        for file, language, text in BLOCK.findall(PAGE):
            if file:
                Path(file).write_text(text)
            elif language == "shell":
                said = run(text, server)
                commands += 1
            elif language == "text":
                assert said.splitlines() == text.splitlines()
    assert commands == 6


def run(command: str, server: Running) -> str:
    words = shlex.split(command.replace("http://127.0.0.1:7420", server.address))
    if words[:2] == ["sojourn", "serve"]:
        return ""  # it is running
    if words[:2] == ["sojourn", "stream"]:  # in a process of its own: Spark's folder is the one that it was started in
        words = ["python", "-m", *words]
    if words[0] == "sojourn":
        ended = sojourn(*words[1:])
        assert ended.code == 0, ended.err
        return ended.out
    return subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True).stdout
