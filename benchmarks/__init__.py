"""Sojourn measured beside its peers: a small program, not a timed test. Start with `python -m benchmarks --help`."""
