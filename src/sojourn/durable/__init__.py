"""The durable hub: the log is the truth, and everything else follows from it.

Read `state.py` first: what records mean. Then, from the disk upwards:

    files      the one interface to a disk, and the real one
    records    length, checksum, type, version, JSON        (`_crc.py` and `_core.pyx`: the checksum, twice)
    segments   reading: which files, where each ends, torn tail or damage
    log        writing: groups, syncs, new segments, a disk that fails
    due, wait  what a state keeps of a wait, and the handle that people hold
    state      `apply(record)`: used by the running hub and by recovery alike
    snapshot   a state as a file, and back
    cold       more than memory: which waits are in the index, and how they come in and leave
    index      the index: an SQLite file, disposable      (`rows`, `where`, `filter`: what it keeps, and is asked)
    recovery   last snapshot or index, then the tail
    upkeep     the index brought forward, snapshots of sealed segments, retention
    stamps     time that never runs back
    commit     group commit: who leads, who waits
    engine     owns a folder: applies, tells, writes, answers; naps until something is due
    outcomes   by number, from memory or from the log
    door       what can be stored
    verbs      each verb as one record
    incidents  the clock of a rule stopped, deadlines shifted and shifted back
    sleep      threads that wait for an outcome
    hub, async_hub, reader    the faces

The folder from outside, beside its owner:

    folder        whether there is one
    archive       which segments are in the data set, and whether retention may remove the others
    dataset/      the log as Parquet, and what the law says of it (needs Arrow)
    verification  what was told, and what comes out again
    compaction, backup, inspection, salvage (over `scan`)    what the commands of these names do
"""

from .hub import DurableHub as DurableHub
from .hub import DurableStats as DurableStats
from .incidents import Incident as Incident
from .reader import Reader as Reader
from .reader import read as read
from .verification import Verified as Verified
from .verification import verify as verify
from .wait import Told as Told
from .wait import Wait as Wait

__all__ = ["DurableHub", "DurableStats", "Incident", "Reader", "Told", "Verified", "Wait", "read", "verify"]
