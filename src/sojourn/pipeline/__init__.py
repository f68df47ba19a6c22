"""Event logs to outcome tables, by the law of `sojourn.rules`: `local` on Arrow tables, `batch` on Spark.

Needs `pip install sojourn[pipeline]` for `local`, and `sojourn[spark]` for `batch`.
"""
