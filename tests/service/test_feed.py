"""Those who are far behind hear everything too, from the log."""

from __future__ import annotations

from service.scene import Scene, in_service
from sojourn.durable import outcomes


@in_service()
async def test_whoever_is_far_behind_hears_everything_in_order(scene: Scene) -> None:
    lines = [
        line
        for i in range(3_000)
        for line in (
            f'{{"wait":{{"id":"w{i}","key":"k{i}","until":"x","within":"1 h"}}}}',
            f'{{"signal":{{"key":"k{i}","kind":"x"}}}}',
        )
    ]
    assert (await scene.ask("POST", "/v1/batch?brief=true", "\n".join(lines))).status_code == 200
    told = scene.service.feed._told
    while len(told._recent) > 10:
        told._recent.popleft()  # as if many more had come since
    reads, read = [], outcomes.read_outcomes
    outcomes.read_outcomes = lambda *asked: (reads.append(asked), read(*asked))[1]
    try:
        heard, last = [], 0
        while last < 3_000:
            page = (await scene.ask("GET", f"/v1/outcomes?after={last}&limit=700")).json()
            heard += [outcome["number"] for outcome in page["outcomes"]]
            last = page["last"]
    finally:
        outcomes.read_outcomes = read
    assert heard == list(range(1, 3_001))
    assert len(reads) == 1


@in_service()
async def test_large_payloads_come_in_more_pieces_and_none_is_missing(scene: Scene) -> None:
    payload = "x" * 60_000
    for i in range(12):
        body = {"key": f"k{i}", "until": "x", "within": "1 h", "payload": payload}
        await scene.ask("PUT", f"/v1/waits/w{i}", body)
        await scene.ask("POST", "/v1/signals", {"key": f"k{i}", "kind": "x"})
    pieces, last = [], 0
    while last < 12:
        pieces.append(await scene.service.feed.piece(last, None))
        last = pieces[-1].last
    assert [piece.last for piece in pieces] == [5, 10, 12]
    assert sum(piece.text.count(b"event: outcome") for piece in pieces) == 12


@in_service()
async def test_a_page_of_a_rule_that_hardly_ends_is_empty_and_says_where_to_go_on(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", {"key": "k", "until": "x", "within": "1 h"})
    await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "x"})
    assert (await scene.ask("GET", "/v1/outcomes?rule=other")).json() == {"outcomes": [], "last": 1}
