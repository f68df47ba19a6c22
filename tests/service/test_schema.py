"""Schemathesis over /openapi.json: whatever is sent to any route, nothing is 5xx and no answer breaks its schema."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.running import Running, running
from sojourn.service.api.openapi import document
from sojourn.service.app import make_app
from sojourn.service.server import make_service
from sojourn.service.settings import Settings

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "8"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    """The same line twice: the second answer may differ."""
    return (json.dumps(value) + "\n").encode() * 2


@schemathesis.serializer("application/toml")
def toml(context: Any, value: Any) -> bytes:
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("schema") / "data", "--sync", "os", "--max-wait", "5 ms") as service:
        yield service


ROUTES = make_app(make_service(Settings("nowhere"))).routes
schema = schemathesis.openapi.from_dict(document(ROUTES))


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_no_answer_is_5xx_or_breaks_its_schema(case: Any, service: Running) -> None:
    if case.path == "/v1/clock/advance":
        return  # time far ahead would end everything else: it has tests of its own
    case.call_and_validate(base_url=service.address, checks=CHECKS)


def test_the_document_that_is_served_is_that_of_the_routes(service: Running) -> None:
    assert service.ask("GET", "/openapi.json")[1] == document(ROUTES)
