"""What a user waits for: cold commands from a log to written outcomes, ours beside DuckDB and Polars by hand."""
