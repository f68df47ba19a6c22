"""The examples run, fit a terminal, and print what they are about; virtual time makes that exact."""

from __future__ import annotations

import pytest
from examples.kafka import acks_all, long_poll, rebalance

ACKS_ALL = """\
at       write                   in sync      waited  answer
  0.0 s  all is well             (0, 1, 2)      10 ms  NONE
  2.0 s  broker 2 is cut off     (0, 1, 2)   5,000 ms  REQUEST_TIMED_OUT
  7.0 s  a more patient writer   (0, 1, 2)   7,989 ms  NONE
 15.0 s  broker 2 is out of sync (0, 1)          6 ms  NONE
 18.0 s  broker 2 has caught up  (0, 1, 2)       9 ms  NONE

ends of the three logs: [5, 5, 5]; the write that timed out is in them too
"""
LONG_POLL = """\
   260 ms  eager: 1 byte, 5 s             completed with  40 bytes
   700 ms  impatient: 200 bytes, 700 ms   expired   with  80 bytes
 1,259 ms  thrifty: 200 bytes, 5 s        completed with 200 bytes
"""
REBALANCE = """\
   6.0 s  ann  has share 1 of 3 in generation 1
   6.0 s  bob  has share 2 of 3 in generation 1
   6.0 s  cem  has share 3 of 3 in generation 1
  20.0 s  cem  dies without a word
  30.0 s  ann  is asked to join again
  30.0 s  bob  is asked to join again
  30.0 s  ann  has share 1 of 2 in generation 2
  30.0 s  bob  has share 2 of 2 in generation 2
"""


def test_acks_all_waits_for_a_lagging_follower_until_it_is_out_of_sync(capsys: pytest.CaptureFixture[str]) -> None:
    acks_all.main()
    assert capsys.readouterr().out == ACKS_ALL


def test_a_long_poll_is_answered_when_there_is_enough_or_its_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    long_poll.main()
    assert capsys.readouterr().out == LONG_POLL


def test_a_group_goes_on_without_a_member_that_died(capsys: pytest.CaptureFixture[str]) -> None:
    rebalance.main()
    assert capsys.readouterr().out == REBALANCE


@pytest.mark.parametrize("text", [ACKS_ALL, LONG_POLL, REBALANCE])
def test_the_lines_fit_a_terminal(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 80
