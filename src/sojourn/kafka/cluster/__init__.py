"""Brokers, the controller, the network between them, and the replicated log."""
