"""The delayed requests of clients and followers: what each waits for, and what it answers."""
