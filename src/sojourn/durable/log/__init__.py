"""The log: the bytes of a data folder. docs/reference/log-format.md has the format.

files      the one interface to a disk, and the real one
records    length, checksum, type, version, JSON
segments   reading: which files, where each ends, torn tail or damage
writer     writing: groups, syncs, new segments, a disk that fails
folder     whether a folder is one, and who owns it
scan       reading what is whole in files that may be damaged
"""
