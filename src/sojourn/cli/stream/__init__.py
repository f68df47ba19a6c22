"""What follows events as they come: `sojourn stream`, and `stream status`."""
