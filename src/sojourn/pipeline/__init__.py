"""Event logs to outcome tables, by the law of `sojourn.rules`: `local` on Arrow tables, `batch` on Spark.

Needs `pip install sojourn[pipeline]` for `local`, and `sojourn[spark]` for `batch`. On a cluster, `ship(spark)` first.
"""

from .shipping import ship as ship

__all__ = ["ship"]
