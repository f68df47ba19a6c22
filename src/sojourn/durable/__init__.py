"""The durable hub: the log is the truth, and everything else follows from it.

Read `state/state.py` first: what records mean. The rooms, from the disk upwards:

    log/       files, records, segments: the bytes of a folder, read and written (`_crc.py`, `_core.pyx`: checksums)
    state/     what follows from the records: waits, their deadlines, incidents. No clock, no thread, no I/O
    index/     more than memory: the waits that are in an SQLite file, and how they come in and leave
    recovery/  the last snapshot or the index, then the tail of the log; and the upkeep that keeps the tail short
    dataset/   the log as Parquet, and what the law says of it (needs Arrow)
    folder/    a folder from outside, beside its owner: what `backup`, `compact`, `inspect` and `verify` do

And the hub that runs on them:

    stamps     time that never runs back
    commit     group commit: who leads, who waits
    owned_folder              its lock, log and index, its state and upkeep
    engine     applies, tells, writes, answers; `nap`s until something is due
    outcomes   by number, from memory or from the log
    door       what can be stored
    verbs      each verb as one record              (`acts`: those on all waits of a rule)
    callbacks  how they are called
    sleep      threads that wait for an outcome     (`left`: what is pending when a hub is closed)
    faces      what people type, here and in a service's client
    hub, async_hub, reader    those of a folder
"""

from .dataset.verified import Verified
from .folder.verification import verify
from .hub import DurableHub, DurableStats
from .reader import Reader, read
from .state.incidents import Incident
from .state.wait import Told, Wait

__all__ = ["DurableHub", "DurableStats", "Incident", "Reader", "Told", "Verified", "Wait", "read", "verify"]
