"""What runs on Spark's executors, without Spark: parcels that are shuffled here end as the law says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parity import random_rules
from parity.operations import Given, as_table, by_law, operations
from parity.tables import LOG, as_outcomes, by_fold
from parity.tables import as_table as as_log
from sojourn.pipeline import deal
from sojourn.pipeline.columns.normal import normal_schema
from sojourn.pipeline.columns.texts import hashes
from sojourn.pipeline.files.parquet import ParquetFiles, RowGroup, shares
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.schema import OUTCOMES
from sojourn.pipeline.spark import parcels, worker
from sojourn.pipeline.spark.worker import (
    Decide,
    DecideOnManyKeys,
    DecideOnOneKey,
    Hand,
    ReadEvents,
    ReadOperations,
    Send,
)
from sojourn.rules import Event, Rule, seen

Batches = list[pa.RecordBatch]


@pytest.fixture(autouse=True, params=[(1, 4), (50, 256), (100_000, 512)], ids=str)
def shards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many shards there are; so many rows of them are decided at once, so few bytes are sent at once."""
    rows, number = request.param
    monkeypatch.setattr(parcels, "ENOUGH_ROWS", rows)
    monkeypatch.setattr(parcels, "_SENT_AT_ONCE", 5_000)
    monkeypatch.setattr(worker, "prepare_worker", lambda **_: None)  # it is for processes that do nothing else
    return int(number)


def files(table: pa.Table, path: Path, random: Random) -> ParquetFiles:
    """A table as a file, shared out to some tasks."""
    pq.write_table(table, path, row_group_size=random.choice([7, 1_000]))
    found = pq.read_metadata(path)
    groups = [RowGroup(str(path), i, found.row_group(i).num_rows, 1_000) for i in range(found.num_row_groups)]
    return ParquetFiles(shares(groups, random.randint(1, 3)), table.schema)


def read(task: Callable[[Batches], Iterator[pa.RecordBatch]], log: ParquetFiles) -> Batches:
    return [parcel for i in range(len(log.shares)) for parcel in task([pa.record_batch({"id": [i]})])]


def shuffled(sent: Batches, random: Random) -> list[Batches]:
    """Partitions: the parcels of a shard are in the same one, in any order, in batches of any size."""
    number = random.randint(1, 4)
    partitions: list[Batches] = [[] for _ in range(number)]
    rows = [batch.slice(i, 1) for batch in sent for i in range(batch.num_rows)]
    for row in random.sample(rows, len(rows)):
        own = partitions[hash(row["shard"][0].as_py()) % number]
        if own and random.random() < 0.5:
            own[-1] = pa.concat_batches([own[-1], row])
        else:
            own.append(row)
    return partitions


def mapped(task: Callable[[Batches], Iterator[pa.RecordBatch]], partitions: Sequence[Batches]) -> Batches:
    return [batch for partition in partitions for batch in task(partition)]


def table_of(outcomes: Batches) -> pa.Table:
    return pa.Table.from_batches(outcomes) if outcomes else OUTCOMES.empty_table()


def given_by_worker(
    plan: Plan, given: Sequence[Given], log: Sequence[Event], shards: int, random: Random, folder: Path, *, many: bool
) -> pa.Table:
    schema = normal_schema(plan, dict.fromkeys(plan.numbers, pa.float64()), opens=False)
    table = as_table(given)
    if not many:
        table = table.set_column(2, "key", table["keys"].combine_chunks().flatten())
    events, waiting = files(as_log(log), folder / "log", random), files(table, folder / "operations", random)
    dealt = read(ReadEvents(plan, schema, opens=False, shards=shards, files=events), events)
    at_home = shuffled(read(ReadOperations(plan, shards, waiting), waiting), random)
    sent = mapped(Send(plan, many, shards), at_home)
    met = shuffled([*dealt, *sent], random)
    if not many:
        return table_of(mapped(DecideOnOneKey(plan, schema), met))
    hand = Hand(plan, schema, shards)
    back = shuffled([*mapped(hand, met), *(parcel for own in at_home for parcel in own)], random)
    return table_of(mapped(DecideOnManyKeys(plan, schema, shards), back))


@pytest.mark.parametrize("seed", range(12))
def test_what_events_open_ends_as_in_the_fold(seed: int, shards: int, tmp_path: Path) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(6)]
    log = random_rules.log(random, random.choice([0, 10, 100, 400]))
    as_of = random_rules.as_of(random)
    plan = Plan.of(rules, "ms").ending(as_of)
    schema = normal_schema(plan, dict.fromkeys(plan.numbers, pa.float64()))
    source = files(as_log(log).select(LOG.names), tmp_path / "log", random)
    dealt = read(ReadEvents(plan, schema, opens=True, shards=shards, files=source), source)
    found = mapped(Decide(plan, schema), shuffled(dealt, random))
    assert as_outcomes(table_of(found)) == by_fold(rules, log, as_of)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_operations_that_are_given_end_as_the_law_says(seed: int, many: bool, shards: int, tmp_path: Path) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(4)]
    given = operations(random, rules, random.choice([0, 1, 60]), most_keys=4 if many else 1)
    log = random_rules.log(random, random.choice([0, 10, 200]))
    as_of = random_rules.as_of(random)
    plan = Plan.of(rules, "ms").ending(as_of)
    found = given_by_worker(plan, given, log, shards, random, tmp_path, many=many)
    assert as_outcomes(found) == by_law(rules, given, log, as_of)


@pytest.mark.parametrize("seed", range(8))
def test_where_keys_are_sources_each_key_is_another_wherever_it_was_decided(
    seed: int, shards: int, tmp_path: Path
) -> None:
    random = Random(seed)
    quorum = Rule("quorum", "open", seen("a", times=2, distinct="source"), within="1 min")
    given = operations(random, [quorum], 60, most_keys=4)
    log = [event._replace(source=event.key) for event in random_rules.log(random, 100)]
    plan = Plan.of(quorum, "ms", source="key").ending("complete")
    found = given_by_worker(plan, given, log, shards, random, tmp_path, many=True)
    assert as_outcomes(found) == by_law([quorum], given, log)
    assert {"completed", "expired"} == set(found["outcome"].to_pylist())


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_of_operations_with_one_name_the_first_to_open_and_to_end_counts(
    seed: int, many: bool, shards: int, tmp_path: Path
) -> None:
    random = Random(seed)
    rule = random_rules.rule(random, "r")
    named = operations(random, [rule], 80, most_keys=3 if many else 1)
    given = [operation._replace(operation_id=f"op-{random.randrange(30)}") for operation in named]
    log = random_rules.log(random, 200)
    order = sorted(given, key=lambda g: (g.operation_id, g.opened_at, g.opened_at + g.within, g.keys))
    firsts = {operation.operation_id: operation for operation in reversed(order)}
    as_of = random_rules.as_of(random)
    plan = Plan.of(rule, "ms").ending(as_of)
    found = given_by_worker(plan, given, log, shards, random, tmp_path, many=many)
    assert as_outcomes(found) == by_law([rule], list(firsts.values()), log, as_of)


def test_names_and_keys_that_share_a_hash_are_others_all_the_same(
    shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deal, "core", None)  # which would find shards without asking for hashes
    for module in (deal, worker):
        monkeypatch.setattr(module, "hashes", lambda texts: hashes(texts) & np.uint64(0xC000000000000000))
    random = Random(0)
    rules = [random_rules.rule(random, f"r{i}") for i in range(4)]
    given = operations(random, rules, 60, most_keys=4)
    log = random_rules.log(random, 200)
    found = given_by_worker(Plan.of(rules, "ms"), given, log, shards, random, tmp_path, many=True)
    assert as_outcomes(found) == by_law(rules, given, log, "log")


def test_rows_without_a_key_or_a_time_stay_behind_and_are_counted(shards: int, tmp_path: Path) -> None:
    rule = Rule("r", "open", "done", within=5)
    table = pa.table(
        {
            "key": pa.array(["a", None, "a", "b", None]),
            "kind": pa.array(["open", "open", "done", "open", "other"]),
            "at": pa.array([1, 1, 2, None, None]),
        }
    )
    plan = Plan.of(rule, "ms")
    schema = normal_schema(plan, {})
    source = files(table, tmp_path / "log", Random(0))
    dealt = read(ReadEvents(plan, schema, opens=True, shards=shards, files=source), source)
    assert sum(count or 0 for batch in dealt for count in batch["unusable"].to_pylist()) == 3
    found = table_of(mapped(Decide(plan, schema), shuffled(dealt, Random(0))))
    assert list(zip(found["key"].to_pylist(), found["outcome"].to_pylist(), strict=True)) == [("a", "completed")]
