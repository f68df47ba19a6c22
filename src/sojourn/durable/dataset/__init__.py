"""The log as a data set: what a hub has seen, done and told, as tables; and what the law says of it.

    archive     which sealed segments are in the data set, and whether retention may remove the others
    schema      the columns of the three tables
    tables      the records of a segment as tables
    parquet     tables as files beside the log; which segments have been converted
    past        all there is of a folder, from files and log, in the order of the log
    changes     what was done by hand: deadlines moved, waits cancelled, graces
    hearing     what a wait heard, where that cannot be told by times alone
    history     the past as the law takes it: rules, operations, events
    verify      what was told, and what the law says    (`verified`: what came of it)

All but `archive` needs NumPy and Arrow (`pip install 'sojourn[pipeline]'`); the hub itself does not.
"""
