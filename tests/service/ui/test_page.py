"""The page itself: dark and light, small and large, keys, tokens, and nothing in it that is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.ui.conftest import opened
from service.ui.running import Running, running
from sojourn.service.access.tokens import Tokens

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
expect = sync_api.expect

PANELS = ("now", "waits", "rules", "incidents", "webhooks")
EVIL = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>'


@pytest.fixture(scope="module", autouse=True)
def evil(service: Running) -> None:
    """Keys, ids, rules, sources and payloads that would be scripts if anybody let them."""
    service.ask("PUT", "/v1/rules/ordinary", {"opens": "order", "until": "paid", "within": "30 min"})
    quoted = "%3Cimg%20src%3Dx%20onerror%3D%22window.evil%3D1%22%3E"
    service.ask("PUT", f"/v1/rules/{quoted}", {"opens": EVIL, "until": EVIL, "within": "30 min"})
    service.ask("PUT", f"/v1/waits/{quoted}", {"key": EVIL, "until": EVIL, "within": "20 min", "payload": {EVIL: EVIL}})
    service.ask("PUT", "/v1/waits/gone", {"key": EVIL, "rule": "ordinary"})
    service.ask("POST", "/v1/signals", {"key": EVIL, "kind": "other", "source": EVIL})
    service.ask("POST", "/v1/incidents", {"act": "shift", "key_prefix": "<", "by": "1 min", "note": EVIL})
    service.ask("DELETE", "/v1/waits/gone")


def test_keys_and_payloads_are_shown_and_never_run(page: Any) -> None:
    for panel in PANELS:
        page.goto(f"/ui#/{panel}")
        if panel == "waits":
            page.get_by_label("Search by id or key prefix").fill("<img")
            page.locator(".wait", has_text="<img").first.click()
            expect(page.locator("#payload")).to_contain_text("<img src=x onerror=")
        elif panel != "webhooks":
            shown = page.locator("#rules h2, #incidents .note, #feed .feed-key", has_text="<img src=x")
            expect(shown.first).to_be_visible(timeout=30_000)
        assert page.evaluate("window.evil") is None
        assert page.locator("main img, main script").count() == 0


def test_nothing_but_our_own_files_may_run_or_be_loaded(page: Any) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    answer = page.goto("/ui")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    expect(page.locator("#live")).to_have_class("live on")
    origin = page.evaluate("location.origin")
    assert [url for url in loaded if not url.startswith(origin)] == []
    markup = answer.text()
    assert "<style" not in markup
    assert " style=" not in markup
    assert "onclick" not in markup


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_that_of_the_system_until_somebody_chooses(browser: Any, service: Running, scheme: str) -> None:
    for page in opened(browser, service, color_scheme=scheme):
        page.goto("/ui")
        root = page.locator("html")
        expect(root).to_have_attribute("data-theme", scheme)
        other = {"light": "dark", "dark": "light"}[scheme]
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_label("Change between light and dark").click()
        expect(root).to_have_attribute("data-theme", other)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
        page.reload()
        expect(root).to_have_attribute("data-theme", other)


def test_nothing_is_wider_than_a_phone(browser: Any, service: Running) -> None:
    for page in opened(browser, service, viewport={"width": 360, "height": 740}, has_touch=True):
        for panel in PANELS:
            page.goto(f"/ui#/{panel}")
            expect(page.locator(f'[data-panel="{panel}"]')).to_have_attribute("aria-current", "page")
            expect(page.locator("main > *")).not_to_have_count(0)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, panel


def test_the_keyboard_reaches_everything(page: Any) -> None:
    page.goto("/ui")
    expect(page.locator(".now")).to_be_visible()
    for key, panel in zip("12345", PANELS, strict=True):
        page.keyboard.press(key)
        expect(page.locator(f'[data-panel="{panel}"]')).to_have_attribute("aria-current", "page")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("search waits")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".wait").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#drawer")).to_be_visible()


@pytest.fixture
def guarded(data: Path, browser: Any) -> Iterator[Running]:
    tokens = Tokens.parse("reader read 0123456789abcdef-read; boss admin 0123456789abcdef-admin")
    with running(data, tokens=tokens, token="0123456789abcdef-admin") as service:
        yield service


def test_a_token_is_asked_for_and_stays_in_the_tab(browser: Any, guarded: Running) -> None:
    guarded.ask("PUT", "/v1/waits/a", {"key": "a", "until": "x", "within": "20 min"})
    for page in opened(browser, guarded):
        page.goto("/ui#/waits/a")
        page.get_by_label("Bearer token").fill("not-a-token-at-all")
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("dialog")).to_contain_text("That token did not do")
        page.get_by_label("Bearer token").fill("0123456789abcdef-read")
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#drawer h2")).to_have_text("a")
        expect(page.locator("#live")).to_have_class("live on")
        page.locator("#cancel-wait").click()
        page.get_by_role("button", name="Cancel it").click()
        expect(page.locator(".toast.bad")).to_contain_text("has scope 'read', and this needs 'write'")
        assert page.evaluate("JSON.stringify(localStorage)").find("0123456789abcdef") < 0
        assert "0123456789abcdef" not in page.url
