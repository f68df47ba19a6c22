"""What a message looks like: signatures of Standard Webhooks, bodies of CloudEvents."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from service.webhooks.scene import SECRET, URL, WALL_MS, scene_in
from service.webhooks.test_delivery import play
from sojourn.errors import ConfigError
from sojourn.service.webhooks import verify
from sojourn.service.webhooks.event import rfc3339
from sojourn.service.webhooks.signature import headers, key_of, new_secret, signature


def test_the_signature_is_that_of_the_standard() -> None:
    """The example of the reference implementations."""
    assert (
        signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_the_signature_is_what_anybody_computes() -> None:
    key = b64decode(SECRET.removeprefix("whsec_"))
    expected = b64encode(hmac.new(key, b"id.17.body", hashlib.sha256).digest()).decode()
    assert headers([SECRET], "id", 17, b"body")["webhook-signature"] == f"v1,{expected}"


@pytest.mark.parametrize(
    ("changed", "is_valid"),
    [
        ({}, True),
        ({"now_s": 1_300}, True),
        ({"now_s": 1_301}, False),
        ({"now_s": 699}, False),
        ({"body": b"other"}, False),
        ({"secret": new_secret()}, False),
        ({"webhook-id": "other"}, False),
        ({"webhook-timestamp": "1001"}, False),
        ({"webhook-timestamp": "-1000"}, False),
        ({"webhook-timestamp": "²"}, False),
        ({"webhook-signature": ""}, False),
        ({"webhook-signature": "v1,x v1a,y"}, False),
    ],
)
def test_a_receiver_takes_only_what_was_signed_not_long_ago(changed: dict[str, Any], is_valid: bool) -> None:
    head = headers([SECRET], "msg_1", 1_000, b"body")
    head |= {name: value for name, value in changed.items() if name in head}
    secret, body, now_s = changed.get("secret", SECRET), changed.get("body", b"body"), changed.get("now_s", 1_000)
    assert verify(secret, head, body, now_s=now_s) is is_valid


@pytest.mark.parametrize("secret", ["word", "whsec_", "whsec_AAAA", "whsec_!!!", 17, "whsec_" + "A" * 92])
def test_a_secret_that_is_none_is_refused_without_repeating_it(secret: Any) -> None:
    with pytest.raises(ConfigError, match="24 to 64 bytes") as error:
        key_of(secret)
    assert not isinstance(secret, str) or len(secret) < 7 or secret not in str(error.value)


def test_a_new_secret_is_one_and_no_two_are_alike() -> None:
    assert len(key_of(new_secret())) == 32
    assert new_secret() != new_secret()


def test_a_body_is_a_cloud_event_with_the_outcome_as_it_was_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with scene_in(tmp_path) as scene:
            await scene.webhooks.add(URL, secret=SECRET)
            scene.hub.wait("order-ä", "paid", "1 h", id="req-1", payload={"mail": "a@example.org"})
            scene.hub.signal("order-ä", "paid")
            await scene.webhooks.settled()
            ((_, head, event),) = scene.receiver().got
            (told,) = scene.hub.outcomes()
        data = event.pop("data")
        assert event == {
            "specversion": "1.0",
            "id": "1",
            "source": "urn:sojourn:orders",
            "type": "sojourn.outcome.completed",
            "subject": "req-1",
            "time": "2023-11-14T22:13:20.000Z",
            "sequence": "00000000000000000001",
            "datacontenttype": "application/json",
        }
        assert data == {"number": 1, **told._asdict(), "payload": {"mail": "a@example.org"}}
        assert head["content-type"] == "application/cloudevents+json; charset=utf-8"
        assert verify(SECRET, head, scene.receiver().bodies[0], now_s=WALL_MS / 1_000)

    asyncio.run(main())


def test_a_time_beyond_the_calendar_has_no_text() -> None:
    assert rfc3339(2**61) is None


def test_after_a_rotation_both_secrets_are_good_for_a_while(tmp_path: Path) -> None:
    async def act(scene: Any) -> None:
        hook, _ = await scene.webhooks.add(URL, secret=SECRET)
        new = (await scene.webhooks.rotate(hook.id, keep_old="1 h")).secret
        assert new != SECRET
        await scene.end("a")
        await scene.reopen()
        await scene.advance(3_600_000)
        await scene.end("b")
        receiver = scene.receiver()
        times = [WALL_MS / 1_000, WALL_MS / 1_000 + 3_600]
        checked = [
            [verify(secret, head, body, now_s=now_s) for secret in (new, SECRET)]
            for (_, head, _), body, now_s in zip(receiver.got, receiver.bodies, times, strict=True)
        ]
        assert checked == [[True, True], [True, False]]

    play(tmp_path, act)


def test_the_same_webhook_again_is_the_same_and_another_under_its_id_is_refused(tmp_path: Path) -> None:
    async def act(scene: Any) -> None:
        first, is_new = await scene.webhooks.add(URL, id="crm", rule="shipped")
        again, is_new_again = await scene.webhooks.add(URL, id="crm", rule="shipped")
        assert (first is again, is_new, is_new_again) == (True, True, False)
        with pytest.raises(sj.IdTakenError, match="'crm' belongs to another webhook"):
            await scene.webhooks.add(URL, id="crm")

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"id": "a/b"}, "id='a/b' is not"),
        ({"rule": 17}, "rule=17 is not the name"),
        ({"rule": "\ud800"}, "is not the name of a rule"),
        ({"outcomes": ["met"]}, "is not a list of some of completed, expired, cancelled"),
        ({"outcomes": []}, "is not a list of some"),
        ({"secret": "word"}, "secret is not whsec_"),
        ({"after": 1}, "after=1 is not a number from 0 to 0"),
        ({"after": True}, "after=True is not a number"),
        ({"url": "ftp://example.org"}, "is not a URL to send to"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    async def act(scene: Any) -> None:
        with pytest.raises(ConfigError, match=message):
            await scene.webhooks.add(**{"url": URL} | wrong)
        assert scene.webhooks.list() == []

    play(tmp_path, act)


def test_there_are_not_more_webhooks_than_allowed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("sojourn.service.webhooks.webhooks.MOST_WEBHOOKS", 1)

    async def act(scene: Any) -> None:
        await scene.webhooks.add(URL)
        with pytest.raises(ConfigError, match="no more are allowed"):
            await scene.webhooks.add(URL)

    play(tmp_path, act)
