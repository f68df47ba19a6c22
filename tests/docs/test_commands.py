"""The pages that tell a story of commands are run as they stand: files written, commands run, output compared."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.command import sojourn
from sojourn.cli import app_for

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"^(?: {4})?sojourn ((?:[^\[\n\\]|\\\n)+)$", re.MULTILINE)  # what has a "[" shows a syntax
TEXTS = [page.read_text() for page in (DOCS.parent / "README.md", *DOCS.rglob("*.md"))]
EXAMPLES = {command for text in TEXTS for command in EXAMPLE.findall(text)}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```sh\nsojourn" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_story_happens_as_told(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = ""
    for file, language, text in BLOCK.findall(page.read_text()):
        if file:
            Path(file).write_text(text)
        elif language == "sh":
            ended = sojourn(*shlex.split(text)[1:])
            assert ended.code == 0, ended.err
            said = ended.out
        elif language == "text":
            assert words(said)[: len(words(text))] == words(text)
        elif language == "json":
            told, found = json.loads(text), json.loads(Path("out/summary.json").read_text())
            assert told.pop("phases").keys() == found.pop("phases").keys()  # how long it takes, nobody can tell
            assert told == found


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_the_command_is_one_that_could_be_typed(example: str) -> None:
    """Every option that the README or a page names is there, and nothing that must be given is left out."""
    command: Any = get_command(app_for([]))
    name, args = None, shlex.split(example)
    while args and not args[0].startswith("-") and hasattr(command, "resolve_command"):
        name, command, args = command.resolve_command(command.context_class(command), args)
    command.make_context(name, args)


def test_the_readme_has_such_commands() -> None:
    assert any("--what-if" in example for example in EXAMPLES)
    assert any("--from kafka:" in example for example in EXAMPLES)


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def test_there_are_such_pages() -> None:
    assert {page.stem for page in PAGES} >= {"replay-a-log", "rule-file"}


def test_the_exit_codes_are_documented_as_they_are() -> None:
    from sojourn.cli.exits import MEANINGS  # noqa: PLC0415

    rows = re.findall(r"^\| (\d+) \| (.+) \|$", (DOCS / "reference" / "exit-codes.md").read_text(), re.MULTILINE)
    assert {int(code): meaning.replace("`", "") for code, meaning in rows} == MEANINGS


def test_the_columns_of_outcomes_are_documented_in_their_order() -> None:
    from sojourn.pipeline import schema  # noqa: PLC0415

    page = (DOCS / "reference" / "replay.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| \w", page, re.MULTILINE)[: len(schema.OUTCOMES)] == schema.OUTCOMES.names


def test_every_command_and_every_option_of_stream_is_documented() -> None:
    page = (DOCS / "reference" / "commands.md").read_text()
    command: Any = get_command(app_for([]))
    assert [name for name in command.commands if f"`{name}" not in page.partition("\n## ")[0]] == []
    section = page.partition("## `sojourn stream`")[2].partition("\n## ")[0]
    options = [option for parameter in command.commands["stream"].params for option in parameter.opts]
    assert [option for option in options if option not in section] == []
