"""Event logs in files: Parquet, CSV, JSON Lines, XES."""
