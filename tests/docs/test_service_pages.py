"""The reference of the HTTP interface has the routes that there are, and the security page tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.service.api.endpoint import ApiRoute
from sojourn.service.app import make_app
from sojourn.service.server import make_service
from sojourn.service.settings import Settings

ROOT = Path(__file__).parents[2]
HTTP = (ROOT / "docs" / "reference" / "http.md").read_text()
SECURITY = (ROOT / "docs" / "reference" / "security.md").read_text()
ROW = re.compile(r"^\| `([A-Z]+) (\S+)` \| ?(\w*) ?\|", re.MULTILINE)


def test_the_table_has_every_route_with_its_scope() -> None:
    routes = make_app(make_service(Settings("nowhere"))).routes
    ours = {(route.method, route.path, route.scope or "") for route in routes if isinstance(route, ApiRoute)}
    assert set(ROW.findall(HTTP)) == ours


def test_each_line_of_the_security_page_names_tests_that_are_there() -> None:
    lines = [line for line in SECURITY.splitlines() if line.startswith("| ") and "what could be tried" not in line]
    named = {line: re.findall(r"`(test_\w+)`", line) for line in lines}
    assert [line for line, tests in named.items() if not tests] == []
    there = set(re.findall(r"def (test_\w+)", "".join(p.read_text() for p in (ROOT / "tests/service").rglob("*.py"))))
    assert {test for tests in named.values() for test in tests} - there == set()
