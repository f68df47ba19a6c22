"""An outcome as a CloudEvent 1.0 in structured JSON, and as the JSON that people read."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from ...durable import Told
from ...rules.within import EPOCH

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
TYPE = "sojourn.outcome."


def outcome_json(told: Told) -> dict[str, Any]:
    return {"number": told.number, **told._asdict(), "payload": told.payload}


def event_body(hub_name: str, outcome: dict[str, Any]) -> bytes:
    """`id` is the number, so that `source` and `id` name one outcome for ever; `sequence` sorts as text."""
    event = {
        "specversion": "1.0",
        "id": str(outcome["number"]),
        "source": f"urn:sojourn:{quote(hub_name, safe='')}",
        "type": TYPE + outcome["outcome"],
        "subject": outcome["operation_id"],
        "time": rfc3339(outcome["at"]),
        "sequence": f"{outcome['number']:020}",
        "datacontenttype": "application/json",
        "data": outcome,
    }
    if event["time"] is None:
        del event["time"]
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def rfc3339(ms: int) -> str | None:
    """A time as CloudEvents has it; None beyond the calendar."""
    try:
        at = EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
