"""Consumer groups: the coordinator, and what a group waits for."""
