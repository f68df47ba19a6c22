"""What reads an event log from beginning to end: `sojourn replay`, `recommend`, `explain` and `report`."""
