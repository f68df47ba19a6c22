"""From files to a state, and what keeps that short.

recovery   the last snapshot or the index, then the tail of the log
snapshot   a state as a file, and back
upkeep     the index brought forward, snapshots of sealed segments, retention
"""
