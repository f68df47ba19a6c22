"""Numbers in words, as commands say them."""


def many(count: int, what: str) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
