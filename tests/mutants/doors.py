"""Bugs for the doors of streams: operations from a stream of their own, sinks, Kafka's options, Spark Connect."""

from __future__ import annotations

from .mutant import Mutant

MEET = "src/sojourn/pipeline/stream/given/meet.py"
HOME = "src/sojourn/pipeline/stream/given/home.py"
PACK = "src/sojourn/pipeline/stream/given/pack.py"
TERMS = "src/sojourn/pipeline/stream/given/terms.py"
SINK = "src/sojourn/pipeline/stream/doors/sink.py"
SETTINGS = "src/sojourn/pipeline/stream/checkpoint/settings.py"
KAFKA = "src/sojourn/pipeline/stream/doors/kafka_source.py"
FILES = "src/sojourn/pipeline/stream/checkpoint/files.py"
OWN_SINK = "src/sojourn/pipeline/stream/doors/own_sink.py"

MUTANTS = [
    Mutant(
        "an operation that is sent again meets its events again",
        MEET,
        "return watches.take(first), np.flatnonzero(first >= old)",
        "return watches, np.arange(old, len(watches.group))",
    ),
    Mutant("what has met meets again", MEET, "all_watches.take(is_new)", "all_watches"),
    Mutant(
        "events that come later meet nobody",
        MEET,
        "_handed(terms, found, keys, fresh_rows, all_watches)",
        "_handed(terms, found, keys, fresh_rows, all_watches.take(is_new))",
    ),
    Mutant("an event before the opening counts", MEET, "(at >= opened_at) | terms", "(at >= opened_at - 1) | terms"),
    Mutant("an event at the deadline does not count", MEET, "(at <= deadline)", "(at < deadline)"),
    Mutant(
        "an event is let go of when the watermark reaches it",
        MEET,
        "rows.ints(AT) >= watermark",
        "rows.ints(AT) > watermark",
    ),
    Mutant(
        "an operation is let go of at its deadline",
        MEET,
        "all_watches.ints(DEADLINE) >= watermark",
        "all_watches.ints(DEADLINE) > watermark",
    ),
    Mutant("levels are forgotten", MEET, "- before < leaf.by]] = True", "- before < leaf.by]] |= False"),
    Mutant("of levels one source is enough", MEET, "- before < leaf.by]] = True", "- before < 1]] = True"),
    Mutant(
        "a level from before keeps its time",
        MEET,
        "pa.array(np.maximum(at, opened_at)[is_seen])",
        "pa.array(at[is_seen])",
    ),
    Mutant("an operation is a source", MEET, "_all_keys(found, keys).take(pa.array(chosen.group))", "ticket"),
    Mutant("nothing wakes a key", MEET, "due = np.where(last >= watermark, np.minimum(due, last), due)", "pass"),
    Mutant("the longest has the id", HOME, "(OPENED_AT, DEADLINE))", "(DEADLINE, OPENED_AT))"),
    Mutant("who comes last has the id", HOME, "if before[0] != one[0]:", "if before[0] != one[0] or True:"),
    Mutant("those without an id are told too", HOME, "outcomes.filter(is_theirs)", "outcomes"),
    Mutant("what has ended is kept", HOME, "_without(step.kept, step.outcomes[KEY])", "step.kept"),
    Mutant(
        "what has ended goes on hearing",
        HOME,
        "handed.filter(pc.or_(is_open, pc.is_in(handed[KEY], opened[KEY])))",
        "handed",
    ),
    Mutant(
        "what is handed on with the opening is lost",
        HOME,
        "pc.or_(is_open, pc.is_in(handed[KEY], opened[KEY]))",
        "is_open",
    ),
    Mutant(
        "operations with other deadlines are one",
        PACK,
        "for column in (given.opened_at, given.deadline))",
        "for column in (given.opened_at, given.opened_at))",
    ),
    Mutant("operations that keep alive are let in", TERMS, "if rule.keeps_alive is not None:", "if False:"),
    Mutant(
        "a checkpoint of events goes on with operations",
        SETTINGS,
        '"eager", "remember", "operations")',
        '"eager", "remember")',
    ),
    Mutant("two streams have the same keys", SINK, 'return f"{self.stream}/{self.number}"', 'return f"{self.number}"'),
    Mutant("a checkpoint is never on a local disk", SINK, "    if is_local:\n", "    if False:\n"),
    Mutant("every checkpoint is on a local disk", SINK, "    if is_local:\n", "    if True:\n"),
    Mutant(
        "each attempt has a key of its own",
        SINK,
        'return f"{self.stream}/{self.number}"',
        'return f"{self.stream}/{self.number}/{id(self)}"',
    ),
    Mutant(
        "options are told apart by their case",
        KAFKA,
        "{name.lower(): value for name, value in options.items()}  # as",
        "dict(options)  # as",
    ),
    Mutant("headers are always there", KAFKA, "if wants_headers(self.options) else SCHEMA", "if True else SCHEMA"),
    Mutant("a message without headers has empty ones", KAFKA, "None if each is None else", "[] if each is None else"),
    Mutant("Spark Connect is let in", FILES, "if is_connect(spark):", "if False:"),
    Mutant("what is set aside goes to the checkpoint", OWN_SINK, "aside or f", "f"),
]
