"""A forked child has none of its parent's threads: what these drive says so at once, and what the child makes works.

Each test is a program of its own, on either build, whose children end themselves if they hang.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from textwrap import dedent

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

PATIENCE_S = 60
"""For the whole program: far more than it needs."""

PRELUDE = f"""
import multiprocessing, os, signal, sys, threading
import sojourn as sj
from sojourn.testing import ManualClock

class Operation(sj.DelayedOperation):
    def try_complete(self):
        print("tried", flush=True)
    def on_complete(self):
        print("told", flush=True)

def in_child(act):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm({PATIENCE_S // 3})  # whoever hangs is killed
        try:
            act()
        except BaseException as error:
            print(f"{{type(error).__name__}}: {{error}}")
        finally:
            sys.stdout.flush()
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        print("a child hung, and was killed")

def works_here():
    ran = threading.Event()
    with sj.SystemTimer("new") as timer, sj.Purgatory("new", timer=timer) as purgatory, sj.Hub("new") as hub:
        timer.schedule(1, ran.set)
        assert ran.wait(10)
        wait = hub.wait("k", until="a", within="1h")
        assert hub.signal("k", "a") == 1 and wait.result(10).outcome == "completed"
        assert hub.wait("k", until="a", within=1).result(10).outcome == "expired"
        operation = sj.DelayedOperation(10**9)
        assert not purgatory.try_complete_else_watch(operation, ["k"]) and operation.cancel()
    print("works")
"""


def told(program: str, pure: str) -> list[str]:
    """What the program prints, line by line."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + dedent(program)],
        env={**os.environ, "SOJOURN_PURE": pure},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


@pytest.fixture(params=["", "1"], ids=["compiled", "pure"])
def pure(request: pytest.FixtureRequest) -> str:
    return request.param


SCENE = """
timer = sj.SystemTimer("mine").start()
task, batch = timer.schedule(10**9, print), timer.schedule_many([10**9] * 2, print)
purgatory, operation = sj.Purgatory("mine", timer=timer), Operation(10**9)
purgatory.try_complete_else_watch(operation, ["k"])
hub = sj.Hub("mine", remember="1h")
wait = hub.wait("k", until="a", within="1h")
parts = hub.wait("k", until=sj.all_of("a", "b"), within="1h", id=7)
before = [f"{timer!r}", f"{purgatory!r}", f"{hub!r}"]
"""

USES = {
    "timer": [
        "timer.schedule(1, print)",
        "timer.schedule_at(1, print)",
        "timer.schedule_many([1], print)",
        "timer.add(task)",
        "timer.add(Operation(5))",
        "timer.advance_clock()",
        "timer.start()",
        "task.cancel()",
        "task.extend(5)",
        "batch.cancel()",
        "batch[0].cancel()",
        "operation.extend(5)",
    ],
    "purgatory": [
        "purgatory.try_complete_else_watch(Operation(5), ['k'])",
        "purgatory.check_and_complete('k')",
        "purgatory.check_and_complete('nobody watches it')",
        "purgatory.cancel_for_key('k')",
        "operation.force_complete()",
        "operation.cancel()",
    ],
    "hub": [
        "hub.wait('k', until='a', within='1h')",
        "hub.signal('k', 'a')",
        "hub.signal_many([('k', 'a')])",
        "hub.cancel(7)",
        "hub.extend(7, '1h')",
        "hub.get(7)",
        "hub.list()",
        "hub.list('k')",
        "hub.explain(7)",
        "wait.result()",
        "wait.result(0)",
        "wait.cancel()",
        "wait.extend(5)",
        "wait.force_complete()",
        "wait.explain()",
        "wait.add_done_callback(print)",
        "parts.cancel()",
        "parts.extend(5)",
    ],
}


@pytest.mark.parametrize("what", USES)
def test_every_use_of_what_the_parent_runs_is_an_error_at_once_and_changes_nothing(what: str, pure: str) -> None:
    uses = "".join(f"in_child(lambda: {use})\n" for use in USES[what])
    lines = told(SCENE + uses + "print(before == [f'{timer!r}', f'{purgatory!r}', f'{hub!r}'])", pure)
    errors = [re.sub(r"process \d+", "process N", line) for line in lines[2:-1]]  # two tries in the parent
    assert errors == [
        f"ForkedError: {what} 'mine' runs in process N, from which this one was forked, and not here: a fork copies no "
        "threads; make a new one in the child, after the fork"
    ] * len(USES[what])
    assert lines[:2] + lines[-1:] == ["tried", "tried", "True"]


def test_what_is_left_behind_says_so_when_it_is_printed(pure: str) -> None:
    lines = told(SCENE + "print(os.getpid())\nin_child(lambda: print(timer, purgatory, hub, sep='\\n'))", pure)
    left = f"'mine' left in process {lines[2]}, which forked this one"
    assert lines[3:] == [
        f"<SystemTimer {left}, 4 pending>",
        f"<Purgatory {left}, 1 delayed>",
        f"<Hub {left}, 2 pending>",
    ]


def test_closing_what_is_left_behind_does_nothing_and_the_parent_goes_on(pure: str) -> None:
    program = """
    def close():
        with hub, purgatory:
            print(timer.close(), purgatory.close(cancel_pending=True), hub.close(), hub.close(cancel_pending=False))

    in_child(close)
    print(task.cancel(), operation.force_complete(), hub.signal("k", "a"), wait.result().outcome)
    """
    assert told(SCENE + dedent(program), pure)[2:] == ["[] [] [] []", "told", "True True 1 completed"]


def test_what_has_ended_before_the_fork_can_be_read_after_it(pure: str) -> None:
    program = """
    hub.signal("k", "a")
    in_child(lambda: print(wait.result().outcome, wait.done(), wait.cancel.__name__))
    """
    assert told(SCENE + dedent(program), pure)[2:] == ["completed True cancel"]


def test_what_a_child_makes_for_itself_works(pure: str) -> None:
    assert told(SCENE + "in_child(works_here)\nin_child(lambda: in_child(works_here))", pure)[2:] == ["works"] * 2


def test_a_timer_that_nothing_drives_yet_works_in_the_child(pure: str) -> None:
    program = """
    import asyncio
    unstarted, asynchronous = sj.SystemTimer("later"), sj.AsyncTimer("later")
    clock = ManualClock()
    by_hand = sj.Hub("by hand", clock=clock)
    by_hand.wait("k", until="a", within=5, callback=lambda wait: print(wait.outcome))

    def start():
        ran = threading.Event()
        unstarted.start().schedule(1, ran.set)
        print(ran.wait(10), unstarted.close())
        asyncio.run(sleep())
        clock.advance(6)

    async def sleep():
        async with asynchronous:
            ran = asyncio.Event()
            asynchronous.schedule(1, ran.set)
            print(await asyncio.wait_for(ran.wait(), 10))

    in_child(start)
    """
    assert told(program, pure) == ["True []", "True", "expired"]


def test_in_a_child_no_loop_of_the_parent_runs(pure: str) -> None:
    program = """
    import asyncio

    async def fork():
        wait.cancel()
        print(wait.future().done())
        in_child(wait.future)
        in_child(lambda: print(asyncio._get_running_loop()))

    asyncio.run(fork())
    """
    assert told(SCENE + dedent(program), pure)[-3:] == ["True", "RuntimeError: no running event loop", "None"]


def test_no_child_is_stuck_on_a_lock_that_a_thread_of_the_parent_held(pure: str) -> None:
    """Threads of the parent take all the locks there are, while children are born."""
    program = """
    is_over = False
    timer, hub = sj.SystemTimer("busy").start(), sj.Hub("busy", remember="1 min")

    def busy():
        while not is_over:
            for task in [timer.schedule(10**6, print) for _ in range(20)]:
                task.cancel()
            hub.cancel(hub.wait("k", until=sj.all_of("a", "b"), within="1h"))
            sj.SystemTimer("started").start().close()

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(25):
        in_child(works_here)
    is_over = True
    for thread in threads:
        thread.join()
    """
    assert told(program, pure) == ["works"] * 25


def test_multiprocessing_by_fork(pure: str) -> None:
    program = """
    def child(answers):
        try:
            hub.signal("k", "a")
        except sj.ForkedError as error:
            answers.put(type(error).__name__)
        with sj.Hub("child") as own:
            own.wait("k", until="a", within="1h")
            answers.put(own.signal("k", "a"))

    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    children = [fork.Process(target=child, args=(answers,), daemon=True) for _ in range(3)]
    for process in children:
        process.start()
    for process in children:
        process.join(20)
    print([process.exitcode for process in children])
    print(sorted(str(answers.get()) for _ in range(6)))
    """
    assert told(SCENE + dedent(program), pure)[2:] == [
        "[0, 0, 0]",
        "['1', '1', '1', 'ForkedError', 'ForkedError', 'ForkedError']",
    ]


def test_a_server_that_forks_its_workers_before_they_serve(pure: str) -> None:
    """As gunicorn does with a preloaded application: what the master made is of no use, what `post_fork` makes is."""
    program = """
    class App:
        hub = sj.Hub("made by the master")
        def serve(self, request):
            wait = self.hub.wait(request, until="paid", within="1h")
            self.hub.signal(request, "paid")
            return wait.result(10).outcome

    app = App()

    def worker():
        try:
            app.serve("order-1")
        except sj.ForkedError:
            print("ForkedError")
        app.hub.close()  # as an exit hook would
        app.hub = sj.Hub("made in post_fork")
        print(*[app.serve(f"order-{n}") for n in range(3)])
        app.hub.close()

    for _ in range(3):
        in_child(worker)
    print(app.serve("order-9"), app.hub.stats().completed)
    """
    assert told(program, pure) == ["ForkedError", "completed completed completed"] * 3 + ["completed 1"]
