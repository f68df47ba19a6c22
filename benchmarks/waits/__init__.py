"""Ways to wait for a signal to a key, at most so long: the hub's, asyncio's own, and what one would write by hand."""
