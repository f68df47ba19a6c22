"""The durable workload: a hub with a folder, beside SQLite and Redis by hand."""
