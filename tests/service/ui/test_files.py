"""The files of the page, without a browser: types, the policy, what is known already, what is not there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from service.scene import Scene, serving
from sojourn.service.ui.routes import FILES, POLICY

STATIC = {name: content.decode() for name, (content, _, _) in FILES.items()}


def played(data: Path, play: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving(data) as scene:
            await play(scene)

    asyncio.run(main())


def test_each_file_has_its_type_and_the_policy(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        for path in ("/ui", *(f"/ui/{name}" for name in FILES)):
            answer = await scene.ask("GET", path)
            assert answer.status_code == 200
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "charset=utf-8" in answer.headers["content-type"]

    played(tmp_path, play)


def test_what_a_browser_has_is_not_sent_again_and_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        first = await scene.ask("GET", "/ui/app.js")
        again = await scene.ask("GET", "/ui/app.js", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for name in ("nobody.js", "..%2Froutes.py", "%2e%2e"):
            assert (await scene.ask("GET", f"/ui/{name}")).status_code == 404, name
        slash = await scene.ask("GET", "/ui/")
        assert (slash.status_code, slash.headers["location"]) == (307, "../ui")
        assert (await scene.ask("POST", "/ui")).status_code == 405

    played(tmp_path, play)


@pytest.mark.parametrize("name", sorted(name for name in STATIC if name.endswith(".js")))
def test_a_module_imports_only_what_is_there_and_makes_no_markup_of_texts(name: str) -> None:
    text = STATIC[name]
    assert set(re.findall(r'from "\./([^"]+)"', text)) <= FILES.keys()
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert forbidden not in text
    assert not re.search(r"https?://(?!www\.w3\.org|example\.org)", text)
