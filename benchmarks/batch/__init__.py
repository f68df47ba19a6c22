"""The batch pipeline beside hand-written DuckDB, Polars and Spark SQL."""
