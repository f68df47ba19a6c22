"""The tests of the same name in `tests/hub`, over a client of a real server."""

from __future__ import annotations

from service.client.contract.chosen import chosen

globals().update(chosen("limits"))
