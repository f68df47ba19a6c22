"""Every panel, in a real browser: what it shows, what one can do there, what comes by itself."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from service.ui.running import Running

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
expect = sync_api.expect

SHIPPED = {"opens": "order", "until": {"all_of": ["paid", "packed"]}, "within": "30 min"}


@pytest.fixture(scope="module", autouse=True)
def shop(service: Running) -> None:
    service.ask("PUT", "/v1/rules/shipped", SHIPPED)
    for i in range(20):
        service.ask("PUT", f"/v1/waits/past-{i}", {"key": f"past-{i}", "rule": "shipped"})
    for i in range(18):
        service.advance("40 s")
        service.ask("POST", "/v1/signals", {"key": f"past-{i}", "kind": "paid"})
        service.ask("POST", "/v1/signals", {"key": f"past-{i}", "kind": "packed"})
    service.advance("31 min")
    service.ask("GET", "/v1/insight/rules?fresh=true")


def opened(service: Running, wait_id: str, **more: Any) -> None:
    service.ask("PUT", f"/v1/waits/{wait_id}", {"key": wait_id, "rule": "shipped", **more})


def test_now_shows_what_is_pending_and_a_herd_before_it_arrives(page: Any, service: Running) -> None:
    lines = "".join(f'{{"wait": {{"key": "herd-{i}", "until": "x", "within": "20 min"}}}}\n' for i in range(4_000))
    service_batch(service, lines)
    page.goto("/ui")
    expect(page.locator(".dial-number")).to_contain_text("4,0")
    expect(page.locator("#forecast")).to_contain_text("A herd of 4,000 falls due around")
    expect(page.locator("#live b")).to_have_text("virtual time")
    service.ask("POST", "/v1/waits:cancel", {"key_prefix": "herd-"})


def service_batch(service: Running, lines: str) -> None:
    import urllib.request  # noqa: PLC0415

    request = urllib.request.Request(f"{service.address}/v1/batch", lines.encode(), method="POST")
    with urllib.request.urlopen(request) as response:
        response.read()


def test_an_outcome_appears_as_it_comes_without_a_reload(page: Any, service: Running) -> None:
    opened(service, "live-1")
    page.goto("/ui#/now")
    expect(page.locator("#live")).to_have_class("live on")
    service.ask("DELETE", "/v1/waits/live-1")
    expect(page.locator("#feed li", has_text="live-1")).to_contain_text("cancelled")


def test_a_wait_is_found_by_the_beginning_of_its_key_and_told_as_a_timeline(page: Any, service: Running) -> None:
    opened(service, "find-me-1", payload={"mail": "a@example.org"})
    service.advance("2 min")
    service.ask("POST", "/v1/signals", {"key": "find-me-1", "kind": "paid", "source": "bank"})
    service.ask("POST", "/v1/signals", {"key": "find-me-1", "kind": "greeting"})
    page.goto("/ui#/waits")
    page.get_by_label("Search by id or key prefix").fill("find-me")
    expect(page.locator(".wait")).to_have_count(1)
    expect(page.locator(".wait")).to_contain_text("missing packed")
    page.locator(".wait").click()
    expect(page.locator("#explained")).to_contain_text("missing packed")
    expect(page.locator(".step.signal.counted")).to_contain_text("paid from bank")
    expect(page.locator(".step.signal", has_text="greeting")).to_contain_text("not awaited")
    expect(page.locator("#payload")).to_contain_text("a@example.org")
    expect(page.locator("#outlook")).to_contain_text("half are met in", timeout=30_000)
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_have_count(0)


def test_a_wait_is_cancelled_after_a_question(page: Any, service: Running) -> None:
    opened(service, "cancel-me")
    page.goto("/ui#/waits/cancel-me")
    page.locator("#cancel-wait").click()
    expect(page.get_by_role("dialog")).to_contain_text("That cannot be undone")
    page.get_by_role("button", name="Back").click()
    assert service.ask("GET", "/v1/waits/cancel-me")["status"] == "pending"
    page.locator("#cancel-wait").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator("#drawer .chip.cancelled")).to_be_visible()
    assert service.ask("GET", "/v1/waits/cancel-me")["status"] == "cancelled"


def test_a_wait_is_extended_and_signalled_from_the_page(page: Any, service: Running) -> None:
    opened(service, "touch-me")
    page.goto("/ui#/waits/touch-me")
    page.get_by_label("How long from now").fill("3 h")
    page.get_by_role("button", name="Extend").click()
    page.get_by_role("button", name="Move it").click()
    expect(page.locator(".step.extended")).to_be_visible()
    for kind in ("paid", "packed"):
        page.get_by_label("Kind of the signal").fill(kind)
        page.get_by_role("button", name="Signal").click()
        page.get_by_role("button", name="Send it").click()
        expect(page.locator(".step.signal", has_text=kind)).to_be_visible()
    expect(page.locator("#drawer .chip.completed")).to_be_visible()


def test_what_the_service_refuses_is_said_in_its_own_words(page: Any, service: Running) -> None:
    opened(service, "refuse-me")
    page.goto("/ui#/waits/refuse-me")
    page.get_by_label("How long from now").fill("soon")
    page.get_by_role("button", name="Extend").click()
    page.get_by_role("button", name="Move it").click()
    expect(page.locator(".toast.bad")).to_contain_text("'soon' is not a number and a unit")
    page.goto("/ui#/waits/nobody")
    expect(page.locator("#drawer [role=alert]")).to_contain_text("there is no wait 'nobody'")


def test_a_rule_shows_its_share_and_what_another_deadline_would_have_done(page: Any) -> None:
    page.goto("/ui#/rules")
    card = page.locator('[data-rule="shipped"]')
    expect(card.locator(".what-if")).to_contain_text("would complete", timeout=30_000)
    expect(card.locator(".mark-word.deadline")).to_have_text("deadline 30 min")
    before = card.locator(".what-if").text_content()
    card.get_by_role("slider").focus()
    for _ in range(3):
        page.keyboard.press("PageDown")
    expect(card.locator(".what-if")).not_to_have_text(before)
    expect(card.locator(".what-if-more")).to_contain_text("in the last week")
    card.locator(".chip", has_text="50 %").click()
    expect(card.locator(".what-if")).to_contain_text(re.compile("With [67] min"))


def test_a_clock_is_stopped_and_resumed_and_a_shift_undone(page: Any, service: Running) -> None:
    opened(service, "patient")
    page.goto("/ui#/incidents")
    page.get_by_label("Rule to stop").select_option("shipped")
    page.get_by_label("A note on the stop").fill("the courier is down")
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop it").click()
    expect(page.locator(".notice.stop")).to_contain_text("The clock of shipped stands")
    service.advance("2 h")
    assert service.ask("GET", "/v1/waits/patient")["status"] == "pending"
    page.get_by_role("button", name="Resume…").click()
    page.get_by_role("button", name="Resume it").click()
    expect(page.locator(".notice.stop")).to_have_count(0)
    page.get_by_label("Rule to shift").select_option("shipped")
    page.get_by_label("By how much").fill("1 h")
    page.get_by_role("button", name="Shift…").click()
    page.get_by_role("button", name="Shift them").click()
    expect(page.locator("#incidents li").first).to_contain_text("shifted shipped by 1 h")
    page.get_by_role("button", name="Undo…").first.click()
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("#incidents li").first).to_contain_text("took back the shift of shipped")
    expect(page.locator("#incidents")).to_contain_text("the courier is down")


class Receiver(BaseHTTPRequestHandler):
    status = 503

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    Receiver.status = 503
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/outcomes"
        server.shutdown()
        thread.join()


def test_a_delivery_that_failed_is_seen_and_tried_again_now(page: Any, service: Running, receiver: str) -> None:
    page.goto("/ui#/webhooks")
    page.get_by_label("URL").fill(receiver)
    page.get_by_role("button", name="Add…").click()
    page.get_by_role("button", name="Send them").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    page.get_by_role("button", name="I have it").click()
    opened(service, "hooked")
    service.ask("DELETE", "/v1/waits/hooked")
    row = page.locator("tr", has_text="hooked")
    expect(row).to_contain_text("waiting")
    expect(row).to_contain_text("503")
    Receiver.status = 204
    row.get_by_role("button", name="Retry now").click()
    expect(row).to_contain_text("delivered")
