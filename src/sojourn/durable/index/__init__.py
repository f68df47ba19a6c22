"""More than memory: waits in an SQLite file, as of a place in the log. Disposable.

cold       which waits are in the index only, and how they come in and leave
index      the file: what is asked of it, and how it is brought forward
rows       waits as rows
filter     texts that are surely not in the index
"""
