"""The picture of the dashboard in the README, from a service with a little life in it: `make screenshot`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import Any

from playwright.sync_api import sync_playwright
from tests.service.ui.conftest import CHROMIUM

LIVE_MS = 150_000
"""How long it lives before the picture is taken."""
SIZE: Any = {"width": 1240, "height": 1180}


def main(to: str) -> None:
    with tempfile.TemporaryDirectory() as data:
        demo = subprocess.Popen(
            [sys.executable, "-m", "sojourn.service.demo", data, "0"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert demo.stdout is not None
            address = next(line.split()[-1] for line in demo.stdout if line.startswith("look at"))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                page = browser.new_page(viewport=SIZE, color_scheme="light")
                page.goto(address)
                page.wait_for_timeout(LIVE_MS)
                page.screenshot(path=to)
                browser.close()
        finally:
            demo.terminate()
            demo.wait()


if __name__ == "__main__":
    main(sys.argv[1])
