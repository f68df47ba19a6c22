"""Bugs for the end of a log: each tie, and each place that has to know where the log ends."""

from __future__ import annotations

from .mutant import Mutant

AS_OF = "src/sojourn/rules/as_of.py"
LAW = "src/sojourn/rules/law.py"
WAITING = "src/sojourn/rules/waiting.py"
JUDGE = "src/sojourn/pipeline/kernel/judge.py"
NORMAL = "src/sojourn/pipeline/columns/normal.py"
OPERATIONS = "src/sojourn/pipeline/columns/operations.py"
OUTCOMES = "src/sojourn/pipeline/columns/outcomes.py"
LOCAL = "src/sojourn/pipeline/local.py"
PARCELS = "src/sojourn/pipeline/spark/parcels.py"
WORKER = "src/sojourn/pipeline/spark/worker.py"
PENDING = "src/sojourn/pipeline/stream/checkpoint/pending.py"
GROUPS = "src/sojourn/pipeline/stream/shard/groups.py"

MUTANTS = [
    # The law
    Mutant(
        "a deadline at the end has not passed",
        LAW,
        "as_of is None or at <= as_of else",
        "as_of is None or at < as_of else",
    ),
    Mutant("a signal at the end does not count", LAW, "event.at <= as_of]", "event.at < as_of]"),
    Mutant("later events are looked at", LAW, "    events = known(events, as_of)\n", ""),
    Mutant(
        "a log that is complete still ends",
        AS_OF,
        "return None if isinstance(checked, str) else checked",
        "return latest if isinstance(checked, str) else checked",
    ),
    Mutant(
        "a pending operation has ended", "src/sojourn/rules/account.py", 'None if standing == "pending" else at', "at"
    ),
    Mutant(
        "a waiting operation is there before it is opened",
        WAITING,
        "None if self.operation.opened_at > as_of else ",
        "",
    ),
    Mutant("it is met after the end", WAITING, "(as_of is None or met_at <= as_of) else None", "True else None"),
    # The kernel
    Mutant(
        "in columns, a deadline at the end has not passed",
        JUDGE,
        "ending[at > as_of] = PENDING",
        "ending[at >= as_of] = PENDING",
    ),
    Mutant("in columns, the age goes to the deadline", JUDGE, "        np.minimum(at, as_of, out=at)\n", ""),
    Mutant("in columns, the deadline decided what is pending", JUDGE, "    codes[ending == PENDING] = NOTHING\n", ""),
    Mutant(
        "in tables, a pending operation has ended",
        OUTCOMES,
        "np.where(verdicts.ending == PENDING, NEVER, verdicts.at)",
        "verdicts.at",
    ),
    # The engines
    Mutant(
        "an event at the time asked for is not looked at",
        NORMAL,
        "log.at.ms <= plan.last_looked_at",
        "log.at.ms < plan.last_looked_at",
    ),
    Mutant(
        "a row that no rule can use says how far the log goes",
        NORMAL,
        "counts = is_usable & ~for_no_rule",
        "counts = is_usable",
    ),
    Mutant(
        "a row without a key says how far the log goes",
        NORMAL,
        "counts = is_usable & ~for_no_rule",
        "counts = ~for_no_rule",
    ),
    Mutant("operations are there before they are opened", OPERATIONS, "given.where(given.opened_at <= last)", "given"),
    Mutant(
        "operations do not say how far the log goes", LOCAL, "latest_of(normal.latest, given.latest)", "normal.latest"
    ),
    Mutant(
        "only one shard hears where the log ends",
        PARCELS,
        "SHARD: spread(np.arange(shards))",
        "SHARD: np.zeros(shards, np.int32)",
    ),
    Mutant(
        "the first task says where the log ends",
        PARCELS,
        "latest if self.latest is None else max(latest, self.latest)",
        "latest if self.latest is None else self.latest",
    ),
    Mutant("a task forgets what it has read", WORKER, "latest = latest_of(latest, met)", "latest = met"),
    Mutant(
        "on several keys nobody hears where the log ends",
        WORKER,
        "        yield from to_every_shard(arrived.latest, self.shards)\n",
        "",
    ),
    # Streams
    Mutant("a stream shows what comes after its watermark", PENDING, ".known(as_of)", ""),
    Mutant(
        "a stream's rows at the watermark are not known",
        GROUPS,
        "np.flatnonzero(self.at <= as_of)",
        "np.flatnonzero(self.at < as_of)",
    ),
    Mutant(
        "a stream shows what has ended",
        PENDING,
        ".filter(pa.array(verdicts.ending == PENDING))",
        "",
    ),
]
