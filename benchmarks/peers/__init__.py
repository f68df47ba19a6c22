"""The timer workload's peers, one class each."""
