"""Logs of any size: read in parts, kept in files if they do not fit into memory, counted and written while decided."""

from __future__ import annotations

import errno
import gzip
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from parity import random_rules
from parity.tables import LOG, as_outcomes, as_table, by_fold, latest
from sojourn import ConfigError, Rule, SourceError, StorageError
from sojourn.pipeline import gather, outlet
from sojourn.pipeline.columns.normal import normal_schema
from sojourn.pipeline.deal import Dealt
from sojourn.pipeline.drawers import NUMBER, Drawers
from sojourn.pipeline.files import parts as file_parts
from sojourn.pipeline.files.blocks import blocks_of
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.local_replay import LocalReplay, half_of_memory
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.replay import Job
from sojourn.rules import AsOf, Event, seen
from support import open_files

PAID = Rule("paid", opens="order", until="payment", within="1 h")
STEPS = (("order", 1_000), ("payment", 2_000))
NAME = '<{0} key="concept:name" value="{1}"/>'
EVENTS = [
    f'<event>{NAME.format("string", kind)}<date key="time:timestamp" value="2026-01-01T00:00:0{at // 1_000}Z"/></event>'
    for kind, at in STEPS
]
NO_MEMORY, MUCH_MEMORY = 1, 2**40


@pytest.fixture(params=[NO_MEMORY, 20_000, MUCH_MEMORY], ids=["in files", "in files from some point on", "in memory"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much may be used; parts, baskets and all are tiny, so that there are many of them."""
    monkeypatch.setattr(file_parts, "ROWS_AT_ONCE", 37)
    monkeypatch.setattr(outlet, "ROWS_AT_ONCE", 20)
    return int(request.param)


def written(log: list[Event], path: Path) -> Source:
    path.mkdir()
    for number, some in enumerate((log[:150], log[150:])):
        pq.write_table(as_table(some), path / f"{number}.parquet", row_group_size=25)
    return Source.of(path)


@pytest.mark.parametrize("seed", range(6))
def test_however_little_memory_there_is_the_outcomes_are_those_of_the_fold(
    seed: int, memory: int, tmp_path: Path
) -> None:
    random = Random(seed)
    rules = tuple(random_rules.rule(random, f"r{i}") for i in range(5))
    log = random_rules.log(random, 300)
    as_of = random_rules.as_of(random)
    said: list[str] = []
    job = Job(written(log, tmp_path / "log"), rules, unit="ms", as_of=as_of)
    replay = LocalReplay(job, memory, str(tmp_path), said.append)
    replay.write(str(tmp_path / "out"), str(tmp_path / "aside"))
    expected = by_fold(rules, log, as_of)
    assert as_outcomes(ds.dataset(tmp_path / "out").to_table()) == expected
    assert sum(tally.counts.opened for tally in replay.tallies.values()) == len(expected)
    assert ds.dataset(tmp_path / "aside").to_table().num_rows == sum(replay.quarantined.values()) > 0
    assert replay.as_of == end_of(rules, log, as_of)
    assert bool(said) == (memory != MUCH_MEMORY)
    assert {path.name for path in tmp_path.iterdir()} == {"log", "out", "aside"}, "nothing is left of the files"


def end_of(rules: tuple[Rule, ...], log: list[Event], as_of: AsOf) -> int | None:
    return latest(rules, log) if as_of == "log" else as_of if isinstance(as_of, int) else None


def test_a_replay_that_kept_its_outcomes_writes_them_without_another_run(memory: int, tmp_path: Path) -> None:
    log = random_rules.log(Random(0), 300)
    rule = random_rules.rule(Random(0))
    replay = LocalReplay(Job(written(log, tmp_path / "log"), (rule,), unit="ms"), memory)
    kept, aside = replay.outcomes, replay.quarantine
    (tmp_path / "log" / "0.parquet").unlink()
    replay.write(str(tmp_path / "out"), str(tmp_path / "aside"))
    assert as_outcomes(ds.dataset(tmp_path / "out").to_table()) == as_outcomes(kept)
    assert ds.dataset(tmp_path / "aside").to_table().equals(aside.cast(ds.dataset(tmp_path / "aside").schema))


def test_only_what_has_ended_is_written_but_all_is_counted(memory: int, tmp_path: Path) -> None:
    log = random_rules.log(Random(1), 300)
    rule = Rule("r", "open", seen("a", times=9), within=2, per="each")
    replay = LocalReplay(Job(written(log, tmp_path / "log"), (rule,), unit="ms", as_of=3), memory)
    replay.write(str(tmp_path / "out"), None, only_ended=True)
    expected = by_fold([rule], log, 3)
    ended = [outcome for outcome in expected if outcome.outcome != "pending"]
    assert as_outcomes(ds.dataset(tmp_path / "out").to_table()) == ended
    assert 0 < len(ended) < len(expected) == replay.tallies["r"].counts.opened


def test_a_log_that_opens_nothing_still_gives_a_table(memory: int, tmp_path: Path) -> None:
    pq.write_table(LOG.empty_table(), tmp_path / "log.parquet")
    replay = LocalReplay(Job(Source.of(tmp_path / "log.parquet"), (PAID,)), memory)
    replay.write(str(tmp_path / "out"), None)
    assert ds.dataset(tmp_path / "out").to_table().num_rows == 0
    assert replay.as_of is None


def test_text_is_read_block_by_block_and_each_bad_line_is_set_aside_once(
    memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.pipeline.files.csv_text.blocks_of", partial(blocks_of, size=64))
    lines = [f"k{i},{kind},{at}" for i in range(60) for kind, at in (("order", 1_000), ("payment", 2_000))]
    (tmp_path / "a.csv").write_text("\n".join(["key,kind,at", *lines[:50], "too,few", *lines[50:70], ",order,5", ""]))
    (tmp_path / "b.csv").write_text("\n".join(["at,kind,key,more", *(reordered(line) for line in lines[70:]), ""]))
    replay = LocalReplay(Job(Source.of(str(tmp_path / "*.csv")), (PAID,)), memory)
    assert replay.tallies["paid"].counts.completed == 60
    assert sorted(replay.quarantine["row"].to_pylist()) == [
        '{"_corrupt_record": "too,few"}',
        '{"key": null, "kind": "order", "at": "5", "more": null}',
    ]
    assert replay.kinds() == {"order": 61, "payment": 60}


def reordered(line: str) -> str:
    return f"{','.join(reversed(line.split(',')))},x"


def test_a_table_of_operations_needs_the_log_in_memory(tmp_path: Path) -> None:
    log = random_rules.log(Random(0), 300)
    table = pa.table({"operation_id": ["op"], "key": ["k"], "opened_at": [0]})
    pq.write_table(table, tmp_path / "operations.parquet")
    source = written(log, tmp_path / "log")
    job = Job(
        source, (Rule("r", "open", "a", within=3),), unit="ms", operations=Source.of(tmp_path / "operations.parquet")
    )
    assert LocalReplay(job, MUCH_MEMORY).outcomes.num_rows == 1
    with pytest.raises(ConfigError, match=r"does not fit into 1 bytes of memory.*--memory.*--engine spark"):
        LocalReplay(job, NO_MEMORY).tallies  # noqa: B018


def test_groups_are_counted_wherever_events_wait(memory: int, tmp_path: Path) -> None:
    rows = [{"key": f"k{i}", "kind": "order", "at": i, "team": ["red", "blue", None][i % 3]} for i in range(300)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet", row_group_size=50)
    replay = LocalReplay(Job(Source.of(tmp_path / "log.parquet"), (PAID,), unit="ms", by="team"), memory)
    groups = replay.tallies["paid"].groups
    assert {name: groups[name].opened for name in groups} == {"red": 100, "blue": 100, "": 100}


@pytest.fixture
def plan() -> Plan:
    return Plan.of(PAID, "ms")


def batches(plan: Plan, keys: int, rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, keys, rows):
        names = [f"key {i}" for i in range(start, min(keys, start + rows))]
        yield pa.record_batch([names, [0] * len(names), range(len(names))], schema=normal_schema(plan, {}))


def test_all_events_of_a_key_are_in_one_drawer_and_shards_of_a_drawer_are_even(plan: Plan, tmp_path: Path) -> None:
    seen: dict[str, int] = {}
    with Drawers(normal_schema(plan, {}), NO_MEMORY, str(tmp_path)) as drawers:
        for _ in range(2):
            for batch in batches(plan, keys=20_000, rows=3_000):
                drawers.add(drawers.dealt(batch))
        for drawer in drawers:
            (part,) = drawer.parts
            for key in part.events["key"].to_pylist():
                assert seen.setdefault(key, drawer.number) == drawer.number
            shards = [part.of_shard(shard, 4).num_rows for shard in range(4)]
            assert sum(shards) == part.events.num_rows
            assert min(shards) > part.events.num_rows / 8
    assert len(seen) == 20_000
    assert len(set(seen.values())) == NUMBER


def test_what_was_taken_out_of_a_drawer_is_on_the_disk_no_longer(plan: Plan, tmp_path: Path) -> None:
    with Drawers(normal_schema(plan, {}), NO_MEMORY, str(tmp_path)) as drawers:
        for batch in batches(plan, keys=100, rows=10):
            drawers.add(drawers.dealt(batch))
        left = [sum(path.is_file() for path in tmp_path.rglob("*")) for _ in drawers]
    assert left == list(range(NUMBER, 0, -1))


def test_files_are_gone_also_if_nobody_takes_them_out(plan: Plan, tmp_path: Path) -> None:
    with Drawers(normal_schema(plan, {}), NO_MEMORY, str(tmp_path)) as drawers:
        for batch in batches(plan, keys=100, rows=10):
            drawers.add(drawers.dealt(batch))
        assert drawers.are_files
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_a_log_that_cannot_be_read_to_its_end_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "THREADS", 1)  # the first file is in drawers when the second one ends too soon
    monkeypatch.setattr("sojourn.pipeline.files.csv_text.blocks_of", partial(blocks_of, size=1_000))
    text = "\n".join(["key,kind,at", *(f"k{i},order,{i}" for i in range(1_000)), ""]).encode()
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text)[:-100])
    replay = LocalReplay(Job(Source.of(f"{tmp_path}/*.csv*"), (PAID,), unit="ms"), NO_MEMORY, str(tmp_path))
    with pytest.raises(SourceError, match="Truncated") as caught:
        replay.tallies  # noqa: B018
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.csv", "b.csv.gz"}, caught.value  # while an error is held, so is what it went through
    assert open_files(tmp_path) == []


def test_a_disk_without_room_for_events_is_not_blamed_on_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(drawers: Drawers, events: Dealt) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Drawers, "_write", full)
    (tmp_path / "a.csv").write_text("key,kind,at\nk,order,1\n")
    replay = LocalReplay(Job(Source.of(f"{tmp_path}/a.csv"), (PAID,), unit="ms"), NO_MEMORY, str(tmp_path))
    with pytest.raises(StorageError, match=f"cannot be kept in '{tmp_path}': .*No space left.*; make room there"):
        replay.tallies  # noqa: B018
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_half_of_the_memory_is_what_it_says() -> None:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert half_of_memory() == pytest.approx(int(total.split()[1]) * 512, rel=0.01)


def test_lines_of_json_are_read_block_by_block_with_types_for_all_of_them(
    memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.pipeline.files.texts.blocks_of", lambda path: blocks_of(path, size=64))
    keys = [str(i) if i < 30 else f'"k{i}"' for i in range(60)]  # numbers at first, then texts
    lines = [f'{{"key": {key}, "kind": "{kind}", "at": {at}}}' for key in keys for kind, at in STEPS]
    text = "\n".join([*lines[:50], "too few", *lines[50:], '{"kind": "order", "at": 5, "more": 1}', ""])
    (tmp_path / "log.jsonl").write_text(text)
    replay = LocalReplay(Job(Source.of(tmp_path / "log.jsonl"), (PAID,)), memory)
    assert replay.tallies["paid"].counts.completed == 60
    assert set(replay.outcomes["key"].to_pylist()) == {key.strip('"') for key in keys}
    assert sorted(replay.quarantine["row"].to_pylist()) == [
        '{"_corrupt_record": "too few"}',
        '{"key": null, "kind": "order", "at": 5, "more": 1}',
    ]


def test_traces_of_xes_are_read_some_at_a_time_with_types_for_all_of_them(
    memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.pipeline.files.xes.EVENTS_PER_CHUNK", 7)
    monkeypatch.setattr("sojourn.pipeline.files.xes.BYTES_AT_ONCE", 100)
    traces = [f"<trace>{NAME.format('int' if i < 30 else 'string', i)}{''.join(EVENTS)}</trace>" for i in range(60)]
    (tmp_path / "log.xes").write_text(f"<log>{''.join(traces)}</log>")
    source = Source.of(tmp_path / "log.xes")
    replay = LocalReplay(Job(source, (PAID,), source.columns), memory)
    assert replay.tallies["paid"].counts.completed == 60
    assert set(replay.outcomes["key"].to_pylist()) == set(map(str, range(60)))
