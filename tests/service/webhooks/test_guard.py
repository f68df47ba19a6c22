"""Where webhooks may go, and where not."""

from __future__ import annotations

import asyncio

import pytest

from sojourn.errors import ConfigError
from sojourn.service.webhooks.guard import Guard, RefusedError, Target, target_of

PUBLIC = "93.184.216.34"


def addresses(url: str, *found: str, allowed: tuple[str, ...] = ()) -> list[str]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(found)

    return asyncio.run(Guard(allowed, resolve).addresses(target_of(url)))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:a00:1",
        "::10.0.0.1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "64:ff9b::10.0.0.1",
        "2001:0:53aa:64c:0:0:f5ff:fffe",
    ],
)
def test_an_address_that_is_not_public_is_refused_however_it_is_written(address: str) -> None:
    with pytest.raises(RefusedError, match="is not a public address"):
        addresses("https://example.org/", address)


def test_one_private_address_among_public_ones_is_one_too_many() -> None:
    with pytest.raises(RefusedError, match=r"10\.0\.0\.1"):
        addresses("https://example.org/", PUBLIC, "10.0.0.1")


def test_public_addresses_are_used_as_they_were_judged() -> None:
    assert addresses("https://example.org/", PUBLIC, "2606:4700::1111") == [PUBLIC, "2606:4700::1111"]


def test_an_allowed_network_may_be_private_and_in_the_clear() -> None:
    assert addresses("http://inside.example.org/", "10.1.2.3", allowed=("10.0.0.0/8",)) == ["10.1.2.3"]
    with pytest.raises(RefusedError, match=r"192\.168\.1\.1"):
        addresses("http://inside.example.org/", "192.168.1.1", allowed=("10.0.0.0/8",))


def test_a_public_address_is_reached_only_encrypted() -> None:
    with pytest.raises(RefusedError, match="is not https"):
        addresses("http://example.org/", PUBLIC)


@pytest.mark.parametrize("url", ["http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://[::1]/"])
def test_what_the_system_takes_for_this_machine_is_refused_whatever_it_looks_like(url: str) -> None:
    with pytest.raises(RefusedError, match="is not a public address"):
        asyncio.run(Guard().addresses(target_of(url)))


def test_a_host_that_nobody_knows_is_refused_by_name() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("unknown")

    with pytest.raises(RefusedError, match=r"'nowhere\.invalid' cannot be resolved"):
        asyncio.run(Guard(resolve=resolve).addresses(target_of("https://nowhere.invalid/")))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/", "is not a URL to send to"),
        ("file:///etc/passwd", "is not a URL to send to"),
        ("https://", "is not a URL to send to"),
        ("example.org", "is not a URL to send to"),
        ("https://user:word@example.org/", "has a user, a password or a fragment"),
        ("https://example.org/#top", "has a user, a password or a fragment"),
        ("https://example.org/\r\nX-Header: 1", "characters that a URL has not"),
        ("https://example.org/a b", "characters that a URL has not"),
        ("https://exämple.org/", "characters that a URL has not"),
        ("https://example.org:99999/", "is not a URL"),
        ("https://[::1/", "is not a URL"),
        ("https://example.org/" + "x" * 2_000, "of at most 2000 characters"),
        (17, "of at most 2000 characters"),
    ],
)
def test_what_nothing_can_be_sent_to_is_refused(url: object, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        target_of(url)


def test_an_error_does_not_repeat_a_password() -> None:
    with pytest.raises(RefusedError) as error:
        target_of("https://user:word@example.org/")
    assert "word" not in str(error.value).replace("password", "")


def test_a_url_is_taken_apart() -> None:
    assert target_of("https://Example.org/a?b=c")[1:] == (True, "example.org", 443, "/a?b=c")
    assert target_of("http://[::1]:8080")[1:] == (False, "::1", 8080, "/")
    assert [Target("", True, *rest).authority for rest in (("a", 443, "/"), ("a", 80, "/"), ("::1", 443, "/"))] == [
        "a",
        "a:80",
        "[::1]",
    ]


def test_a_network_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="'home' is not a network"):
        Guard(["home"])
