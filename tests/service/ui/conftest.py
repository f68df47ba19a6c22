"""A browser for the tests of the page: chromium, through Playwright. Skipped where it is not, with a message."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.ui.running import Running, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For one file at a time: while Playwright runs, no other test could start a loop of asyncio in this thread."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium here: apt install chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Running]:
    """One for all tests of a file: each uses keys of its own."""
    with running(tmp_path_factory.mktemp("data"), webhooks_to=("127.0.0.0/8",)) as one:
        yield one


@pytest.fixture
def page(browser: Any, service: Running) -> Iterator[Any]:
    """A page on the service. Nothing may be said on its console: so the browser's policy was never broken."""
    yield from opened(browser, service)


def opened(browser: Any, service: Running, **options: Any) -> Iterator[Any]:
    context = browser.new_context(base_url=service.address, **options)
    context.set_default_timeout(10_000)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert not [text for text in said if "status of 4" not in text], said  # a refusal is logged by the browser itself


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"
