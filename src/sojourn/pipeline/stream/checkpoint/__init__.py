"""What a checkpoint knows of its stream, and how it is asked.

settings   what the checkpoint was written under
changes    its rules, from its start on
batches    which micro-batches there were, and under which watermark
status     what is pending, since when, how far it has come
pending    the operations that a replay as of the watermark would call pending
files      small files on whatever file system Spark can reach
"""
