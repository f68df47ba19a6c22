"""The container and the systemd unit say what the command understands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from service.running import running
from sojourn.cli import app_for

ROOT = Path(__file__).parents[2]
ENTRYPOINT = json.loads(re.findall(r"^ENTRYPOINT (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0])
EXEC_START = re.findall(r"^ExecStart=(.+)$", (ROOT / "deploy/sojourn.service").read_text(), re.MULTILINE)[0].split()


@pytest.mark.parametrize("words", [ENTRYPOINT, EXEC_START])
def test_what_is_started_is_the_command_with_options_that_it_has(words: list[str]) -> None:
    command: Any = get_command(app_for([]))
    known = {option for parameter in command.commands["serve"].params for option in parameter.opts}
    assert (Path(words[0]).name, words[1]) == ("sojourn", "serve")
    assert {word for word in words if word.startswith("--")} <= known


def test_as_in_the_container_it_serves_a_public_address_with_tokens_behind_a_proxy(tmp_path: Path) -> None:
    options = [*ENTRYPOINT[2:], "--tls-elsewhere"]
    options[options.index("--data") + 1] = str(tmp_path / "data")
    with running(None, *options, environment={"SOJOURN_TOKENS": f"ops admin {'a' * 20}"}) as service:
        service.host = "127.0.0.1"
        assert service.ask("GET", "/readyz")[0] == 200
        assert service.ask("GET", "/v1/waits")[0] == 401
