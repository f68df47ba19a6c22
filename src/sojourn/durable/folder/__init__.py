"""A data folder from outside, beside its owner.

verification  what was told, and what comes out again
compaction, backup, inspection, salvage    what the commands of these names do
"""
