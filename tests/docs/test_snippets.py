"""Every Python snippet in the documentation runs, on either build."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPETS = [
    pytest.param(snippet, id=f"{page.relative_to(ROOT)}-{i}")
    for page in PAGES
    for i, snippet in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
LINKS = [
    pytest.param(page.parent / link, id=f"{page.relative_to(ROOT)} {link}")
    for page in PAGES
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
]


@pytest.mark.parametrize("pure", ["", "1"], ids=["compiled", "pure"])
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_snippet_runs(snippet: str, pure: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet],
        env={"SOJOURN_PURE": pure, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("target", LINKS)
def test_the_link_leads_somewhere(target: Path) -> None:
    assert target.exists()
