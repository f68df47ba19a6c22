"""Streams on Spark: the same events through ours and through what one would write by hand."""
