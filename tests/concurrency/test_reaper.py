"""The real reaper, in its own thread on the machine's clock. Nothing here measures time; a guard ends what hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sojourn import ReaperDiedError, SystemClock, TaskState
from sojourn.clock import Alarm
from sojourn.timer.drivers import ReaperThread
from support import Build

GUARD_S = 30
HOUR_MS = 3_600_000

Errors = list[BaseException]


def within_reason(action: Callable[[], Any]) -> Any:
    """What the action returns or raises; one that hangs fails."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(action())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(timeout=GUARD_S)


def has_happened(event: threading.Event) -> bool:
    return event.wait(GUARD_S)


@pytest.fixture
def errors() -> Errors:
    return []


@pytest.fixture
def timer(build: Build, errors: Errors) -> Any:
    timer = build.SystemTimer("real", on_error=lambda task, error: errors.append(error))
    timer.start()
    yield timer
    within_reason(timer.close)
    timer._check()


@pytest.mark.parametrize("delay_ms", [0, 1, 25])
def test_a_task_runs_in_the_reaper(timer: Any, delay_ms: int) -> None:
    ran_in: Future[threading.Thread] = Future()
    task = timer.schedule(delay_ms, lambda: ran_in.set_result(threading.current_thread()))
    assert ran_in.result(GUARD_S).name == "sojourn-reaper-real"
    assert task.state is TaskState.EXPIRED


def test_a_reaper_asleep_for_an_hour_wakes_up_for_something_sooner(timer: Any) -> None:
    for sooner_ms in (HOUR_MS, 50, 1):
        ran = threading.Event()
        timer.schedule(sooner_ms, ran.set)
    assert has_happened(ran)


def test_a_task_extended_to_now_wakes_the_reaper(timer: Any) -> None:
    ran = threading.Event()
    assert timer.schedule(HOUR_MS, ran.set).extend(0)
    assert has_happened(ran)


def test_a_batch_runs_in_the_reaper(timer: Any) -> None:
    left = threading.Semaphore(0)
    timer.schedule_many([0, 1, 2, 0], left.release)
    assert all(left.acquire(timeout=GUARD_S) for _ in range(4))


def test_closing_does_not_wait_for_a_reaper_that_sleeps_for_an_hour(timer: Any) -> None:
    task = timer.schedule(HOUR_MS, print)
    assert within_reason(timer.close) == [task]
    assert not timer._driver._thread.is_alive()


def test_closing_at_once_after_starting_is_heard(build: Build) -> None:
    for _ in range(50):
        timer = build.SystemTimer("brief").start()
        within_reason(timer.close)
        assert not timer._driver._thread.is_alive()


def start_together(timer: Any, barrier: threading.Barrier) -> None:
    barrier.wait()
    timer.start()


def test_starting_from_many_threads_at_once_is_starting_once(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        def __init__(self, timer: Any) -> None:
            drivers.append(self)
            for _ in range(5):
                time.sleep(0)  # let the others have their try

        def start(self) -> None:
            """It is the making that counts here."""

    monkeypatch.setattr(build.SystemTimer, "_driver_type", Driver)
    for _ in range(20):
        drivers: list[Driver] = []
        timer = build.SystemTimer("popular")
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=start_together, args=(timer, barrier), daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GUARD_S)
        assert len(drivers) == 1


def test_a_task_may_close_its_own_timer(timer: Any) -> None:
    left: Future[list[Any]] = Future()
    task = timer.schedule(HOUR_MS, print)
    timer.schedule(0, lambda: left.set_result(timer.close()))
    assert left.result(GUARD_S) == [task]
    timer._driver._thread.join(GUARD_S)
    assert not timer._driver._thread.is_alive()


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("batched", [False, True])
def test_nothing_that_a_task_raises_stops_the_reaper(
    timer: Any, errors: Errors, error: type[BaseException], batched: bool
) -> None:
    def fail() -> None:
        raise error

    ran = threading.Event()
    if batched:
        timer.schedule_many([0, 0], fail)
    else:
        timer.schedule(0, fail)
        timer.schedule(0, fail)
    timer.schedule(1, ran.set)
    assert has_happened(ran)
    assert [type(one) for one in errors] == [error, error]


def test_a_handler_that_fails_does_not_stop_the_reaper(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    def handler(task: Any, error: BaseException) -> None:
        raise LookupError("the handler itself")

    ran = threading.Event()
    with build.SystemTimer("clumsy", on_error=handler) as timer:
        timer.schedule(0, lambda: 1 // 0)
        timer.schedule(1, ran.set)
        assert has_happened(ran)
    assert {record.exc_info[0] for record in caplog.records if record.exc_info} == {ZeroDivisionError, LookupError}


class Asleep(SystemClock):
    """Tells when the reaper goes to sleep, and breaks on demand."""

    def __init__(self) -> None:
        self.is_asleep = threading.Event()
        self.error: BaseException | None = None

    def wait(self, alarm: Alarm, ns: int) -> None:
        self.is_asleep.set()
        super().wait(alarm, ns)
        if self.error is not None:
            raise self.error


def test_a_task_that_exits_while_the_reaper_is_being_started_does_not_stop_it(
    build: Build, errors: Errors, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Quick(ReaperThread):
        """Has run what is due and gone to sleep before `start()` returns."""

        def start(self) -> None:
            super().start()
            while self._thread.is_alive() and not self._timer.clock.is_asleep.wait(0.01):
                pass

    def leave() -> None:
        raise SystemExit

    monkeypatch.setattr(build.SystemTimer, "_driver_type", Quick)
    timer = build.SystemTimer("eager", clock=Asleep(), on_error=lambda task, error: errors.append(error))
    timer.schedule(0, leave)
    while timer.nap_ns():
        pass
    ran = threading.Event()
    with timer.start():
        timer.schedule(0, ran.set)
        assert has_happened(ran)


def test_a_reaper_that_dies_in_its_sleep_is_reported_and_closing_still_returns_the_tasks(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Asleep()
    timer = build.SystemTimer("mortal", clock=clock)
    task = timer.schedule(HOUR_MS, print)
    timer.start()
    clock.error = OSError("the clock broke")
    timer._alarm.set()
    timer._driver._thread.join(GUARD_S)
    with pytest.raises(ReaperDiedError, match=r"'mortal' died of OSError\('the clock broke'\)") as died:
        timer.schedule(0, print)
    assert died.value.__cause__ is clock.error
    assert within_reason(timer.close) == [task]
    timer._check()
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


def test_tasks_run_in_the_executor_and_their_errors_are_reported(build: Build, errors: Errors) -> None:
    ran_in: Future[threading.Thread] = Future()
    with (
        ThreadPoolExecutor(2, thread_name_prefix="pool") as executor,
        build.SystemTimer("busy", executor=executor, on_error=lambda task, error: errors.append(error)) as timer,
    ):
        timer.schedule(0, lambda: 1 // 0)
        timer.schedule_many([0], lambda: ran_in.set_result(threading.current_thread()))
        assert ran_in.result(GUARD_S).name.startswith("pool")
    assert [type(one) for one in errors] == [ZeroDivisionError]


def test_an_executor_that_was_shut_down_is_reported_and_does_not_stop_the_reaper(build: Build) -> None:
    reported = threading.Semaphore(0)
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with build.SystemTimer("late", executor=executor, on_error=lambda task, error: reported.release()) as timer:
        for _ in range(2):
            timer.schedule(0, print)
            assert reported.acquire(timeout=GUARD_S)
        assert timer.stats().expired == 2


def test_closed_timers_leave_no_thread_behind(build: Build) -> None:
    timers = [build.SystemTimer(f"one of many {i}").start() for i in range(20)]
    for timer in timers:
        within_reason(timer.close)
    assert not [thread for thread in threading.enumerate() if "one of many" in thread.name]


def test_an_alarm_set_before_the_sleep_ends_it_at_once_and_only_once() -> None:
    alarm = Alarm()
    alarm.set()
    alarm.set()
    within_reason(lambda: alarm.wait(HOUR_MS))
    woken = threading.Event()
    threading.Thread(target=lambda: (alarm.wait(HOUR_MS), woken.set()), daemon=True).start()
    assert not woken.is_set()
    alarm.set()
    assert has_happened(woken)
