"""`docs/how-to/serve.md` as it stands: every command is run, against a real server, and its answer compared."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from service.running import running

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "serve.md").read_text()
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
STORY = [(language, text) for language, text in BLOCK.findall(PAGE) if language in ("sh", "json", "text")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_story_of_curl_happens_as_told(tmp_path: Path) -> None:
    said = ""
    with running(tmp_path, "--clock", "manual", "--webhooks-to", "127.0.0.1") as server:
        for language, text in STORY:
            if language == "sh":
                said = run(text, server.port)
            elif language == "json":
                difference = differing(json.loads(text), json.loads(said))
                assert difference is None, f"{difference} in the answer {said}"
            else:
                for told, found in zip(text.splitlines(), filter(None, said.splitlines()), strict=False):
                    assert found.startswith(told)


def run(command: str, port: int) -> str:
    """In a shell, with the port that the server was given; a stream ends by the time that the command allows."""
    here = command.replace("127.0.0.1:7420", f"127.0.0.1:{port}").replace("curl ", "curl -sS ")
    ended = subprocess.run(["bash", "-c", here], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode in (0, 28), ended.stderr
    return ended.stdout


def differing(told: Any, found: Any) -> str | None:
    """Where the page says something else than the answer; what it leaves out may be anything."""
    if isinstance(told, dict) and isinstance(found, dict):
        wrong = (differing(value, found[name]) if name in found else f"no {name}" for name, value in told.items())
        return next((one for one in wrong if one is not None), None)
    if isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        return next((one for one in map(differing, told, found) if one is not None), None)
    return None if told == found else f"{told!r} is {found!r}"


def test_the_page_shows_every_kind_of_request() -> None:
    commands = " ".join(text for language, text in STORY if language == "sh")
    for words in (
        "-X PUT",
        "-X PATCH",
        "-X DELETE",
        "/v1/signals",
        "/v1/batch",
        "/v1/outcomes",
        "/v1/webhooks",
        ":shift",
    ):
        assert words in commands
