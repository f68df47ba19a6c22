"""Which tests of `tests/hub` run over a client of a real server: all that make their hub by a scene, but for these.

Each `test_*.py` beside this file is one of the files there. What cannot hold over a URL has its reason here, in one
place; what a durable hub does instead is in `tests/durable/test_hub.py`, which runs over a client in `test_durable.py`.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

TEXTS = "a log keeps texts only; others are refused by name: see test_durable.py"
KNOWN_IDS = "a durable hub remembers the ids of waits that have ended, for remember_ids, and another one is refused"
CLOSING = "closing a client leaves the waits pending in the service, and says so to those who wait: see test_client.py"
STREAM = "callbacks run in the thread that reads the stream: what they do is heard of when they have returned"
WHOLE_MS = "time moves by whole milliseconds over a URL"
INSIDE = "looks inside the hub in memory"
HANDLE = "a handle knows the deadline of its last answer: a beat moves it in the service"
REFUSED_FIRST = "refused by the client as not storable, before anybody is asked: see test_client.py"
BY_HAND = "a service has no such verb"
TUPLES = "what the recipe gathers ends with its process: only a hub in memory will do, and others are refused"

WHOLE_FILES = {
    "asyncio": "an asyncio client is awaited where a hub in memory answers at once: see test_async_client.py",
    "blocking": "who waits moves the manual clock, or the test looks at its threads: the clock is the service's",
    "finalisers": "finalisers that run inside the hub's own code: there is none of it in a client",
    "hub_law": "the law without any hub",
    "keys": "keys with code of their own: a log keeps texts only",
    "law": "generated programs on a hub's inside: see the twins in test_durable.py",
    "races": "all interleavings of the hub's own code",
    "stress": "the speed of threads on the hub's own code",
    "surface": "the verbs of a hub in memory and no others; a client has more",
}
NOT_OVER_A_CLIENT = {
    "callbacks": {
        "a_callback_may_close_the_hub": CLOSING,
        "a_callback_may_signal_and_cancel_others": STREAM,
        "an_exit_in_a_callback_goes_on_when_the_other_callbacks_have_been_called": STREAM,
        "an_exit_in_a_callback_goes_on_when_the_other_waits_have_been_told": STREAM,
    },
    "conditions": {
        "a_wait_that_makes_no_sense_is_refused_and_leaves_no_trace": TEXTS,
        "a_wait_within_no_time_takes_signals_of_its_own_instant": WHOLE_MS,
        "anything_hashable_is_a_key": TEXTS,
        "what_is_no_rule_is_refused": "a text is the name of a rule that the service knows",
    },
    "extend_cancel": {
        "a_wait_is_not_made_by_hand": INSIDE,
        "a_wait_that_is_cancelled_while_it_reads_a_signal_stays_cancelled": INSIDE,
        "a_wait_that_is_forced_completes_now": BY_HAND,
        "extending_beyond_the_clock_is_an_error_and_changes_nothing": "a log keeps any deadline, as it has no wheel",
    },
    "ids": {
        "a_callback_may_wait_again_with_the_id_of_the_wait_that_ended": KNOWN_IDS,
        "a_hub_and_a_wait_show_what_they_are": "a client shows where its service is",
        "a_hub_that_is_closed_is_let_go_of_with_all_that_it_held": CLOSING,
        "a_hub_that_remembers_knows_an_id_for_a_while_after_the_end": KNOWN_IDS,
        "a_new_wait_outlives_the_memory_of_the_old_one_of_its_id": KNOWN_IDS,
        "an_id_is_free_again_once_its_wait_has_ended": KNOWN_IDS,
        "an_id_that_cannot_be_compared_any_more_keeps_nobody_from_being_told": TEXTS,
        "an_id_that_is_forgotten_keeps_nothing_of_its_wait_alive": INSIDE,
        "another_rule_of_the_same_name_is_another_wait": "a service knows a wait's rule by its name",
        "anything_hashable_is_an_id": TEXTS,
        "getting_what_is_not_there_gives_none": KNOWN_IDS,
        "ids_leave_nothing_behind": INSIDE,
        "ids_that_have_ended_are_forgotten_in_turn_and_the_pending_ones_are_not": KNOWN_IDS,
    },
    "limits": {"a_hub_that_may_hold_nothing_holds_nothing": "a service holds at least one wait"},
    "recipes": {
        "a_batch_is_delivered_as_soon_as_there_is_enough": TUPLES,
        "a_delayed_future_goes_on_when_the_last_future_is_done_well_or_ill": TUPLES,
        "a_delayed_future_that_is_cancelled_leaves_its_futures_alone": TUPLES,
        "a_delivery_may_add_to_the_next_batch": TUPLES,
        "a_hub_that_remembers_keeps_nothing_of_futures_that_are_late": TUPLES,
        "a_part_that_was_ready_early_is_ready_on_a_hub_that_remembers": INSIDE,
        "a_partial_answer_is_what_was_ready_in_time": INSIDE,
        "all_parts_ready_is_said_to_the_last": INSIDE,
        "an_item_of_a_batch_that_is_gone_does_not_count_for_the_next": TUPLES,
        "an_item_that_finds_no_room_is_refused_and_not_kept": TUPLES,
        "an_item_without_a_size_is_refused_and_not_kept": TUPLES,
        "batches_are_the_same_on_a_hub_that_remembers": TUPLES,
        "closing_the_hub_delivers_what_has_gathered": TUPLES,
        "futures_that_are_done_already_are_not_waited_for": TUPLES,
        "sizes_count_and_one_item_may_be_enough": TUPLES,
        "the_time_of_a_batch_starts_with_its_first_item": TUPLES,
        "two_batchers_may_share_a_key": TUPLES,
        "two_delayed_futures_of_one_key_do_not_count_for_each_other": TUPLES,
        "what_a_delivery_raises_is_reported_and_the_next_batch_is_delivered": TUPLES,
        "when_the_time_is_up_futures_that_have_not_begun_are_cancelled": TUPLES,
    },
    "remember": {
        "a_signal_that_is_refused_is_not_remembered": REFUSED_FIRST,
        "an_early_value_that_makes_no_sense_keeps_nobody_from_waiting": REFUSED_FIRST,
        "no_more_than_so_many_are_remembered_the_oldest_going_first": "a service has no remember_most",
        "nothing_is_left_of_what_is_forgotten": INSIDE,
    },
    "result": {
        "the_result_of_a_wait_that_has_ended_is_there_at_once": CLOSING,
        "threads_that_wait_for_the_result_get_it_when_another_ends_the_wait": CLOSING,
    },
    "signal": {
        "a_signal_from_inside_a_callback_reaches_waits_on_the_same_key": STREAM,
        "a_source_that_is_neither_text_nor_a_whole_number_is_an_error_for_the_one_who_signals": REFUSED_FIRST,
        "a_value_that_makes_no_sense_is_an_error_for_the_one_who_signals": REFUSED_FIRST,
        "a_value_that_nobody_reads_may_be_anything": REFUSED_FIRST,
        "an_unhashable_key_is_an_error_for_the_one_who_signals": TEXTS,
        "further_columns_of_events_count": "a log keeps source and value only",
    },
    "stats_close": {
        "a_callback_that_raises_while_closing_is_reported_and_the_others_are_told": CLOSING,
        "a_closed_hub_refuses_to_wait_and_says_so": CLOSING,
        "closing_cancels_whatever_is_pending_and_returns_it": CLOSING,
        "closing_without_cancelling_returns_the_waits_as_they_are": CLOSING,
        "everything_else_on_a_closed_hub_is_in_vain": CLOSING,
        "leaving_the_with_block_closes": CLOSING,
        "what_closing_cancels_is_counted": CLOSING,
    },
    "ties": {
        "a_beat_does_not_shorten_what_was_extended_by_hand": HANDLE,
        "each_beat_moves_the_deadline_and_a_beat_at_the_deadline_is_in_time": HANDLE,
        "nobody_is_told_of_an_expiry_before_the_instant_is_over": WHOLE_MS,
        "nothing_is_kept_of_a_beat": INSIDE,
        "the_deadlines_millisecond_counts_to_its_end": WHOLE_MS,
    },
}
"""By file and test: why not. A test that asks for a build of the timer makes its hub from it: it is not for a URL."""


def chosen(module: str) -> dict[str, Any]:
    """The tests of a file that apply, and its fixtures."""
    found = vars(import_module(f"hub.test_{module}"))
    without = {f"test_{name}" for name in NOT_OVER_A_CLIENT.get(module, {})}
    assert without <= found.keys(), f"no longer there: {without - found.keys()}"
    return {name: one for name, one in found.items() if is_fixture(one) or (applies(name, one) and name not in without)}


def applies(name: str, one: Any) -> bool:
    return name.startswith("test_") and not asks_for_build(one)


def asks_for_build(one: Any) -> bool:
    return bool({"build", "overdue"} & signature(one).parameters.keys())


def is_fixture(one: Any) -> bool:
    return type(one).__name__ == "FixtureFunctionDefinition"
