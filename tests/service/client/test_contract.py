"""The contract of the hub in memory, over a client of a real server.

It is what `tests/hub` says of keys, ids and sources that are texts, without looking inside. Its other tests are about
anything hashable, callbacks in the calling thread, or the hub's own lists. `test_durable.py` has what a log makes
possible.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

TESTS = {
    "callbacks": (
        "a_callback_may_wait_again_on_the_same_key",
        "a_callback_that_raises_keeps_no_other_wait_from_its_signal",
        "what_a_late_callback_raises_is_reported_not_raised",
        "what_cannot_be_called_is_refused_at_the_door",
    ),
    "conditions": (
        "a_rule_whose_deadline_stands_on_an_opening_event_is_refused",
        "a_rule_with_a_condition_or_a_duration_beside_it_is_refused",
        "a_wait_is_pending_until_its_condition_is_met_and_completes_there_and_then",
        "only_the_deadline_ends_a_wait_for_nothing",
        "signals_to_any_of_its_keys_count_and_to_no_other",
        "waits_of_different_kinds_share_a_key",
    ),
    "extend_cancel": (
        "a_wait_can_cancel_itself",
        "extending_by_what_is_no_duration_is_an_error_and_changes_nothing",
        "extending_does_not_undo_a_cancellation_of_the_same_instant",
    ),
    "ids": (
        "a_pending_wait_explains_what_it_waits_for",
        "a_wait_for_a_single_signal_explains_itself_too",
        "without_an_id_every_wait_is_its_own",
    ),
    "result": (
        "a_callback_may_ask_for_the_result",
        "asking_no_longer_than_so_long_raises_a_timeout_error_and_changes_nothing",
        "the_result_explains_itself",
        "who_asks_in_vain_leaves_nothing_behind",
    ),
    "signal": (
        "a_signal_that_completes_nobody_yet_returns_0",
        "a_signal_that_nobody_waits_for_returns_0",
        "signal_many_takes_any_iterable_and_none_is_none",
        "signal_many_takes_events_which_are_stamped_now_as_any_signal",
    ),
    "ties": (
        "a_beat_does_not_undo_a_cancellation_of_the_same_instant",
        "a_cancellation_after_the_deadline_comes_too_late",
        "a_kind_that_both_completes_and_cancels_completes_if_it_can",
        "cancelled_wins_over_expired_at_the_same_instant",
        "cancelled_wins_over_what_completes_a_millisecond_later",
        "completed_wins_over_cancelled_at_the_same_instant",
    ),
}


def chosen(module: str, names: tuple[str, ...]) -> dict[str, Any]:
    found = vars(import_module(f"hub.test_{module}"))
    return {f"test_{module}_{name}": found[f"test_{name}"] for name in names}


for module, names in TESTS.items():
    globals().update(chosen(module, names))
