"""Event logs in, outcome tables out, by the law of `sojourn.rules`: `local` in this process, the rest on Spark.

`local` needs `pip install sojourn[pipeline]`; `batch` and `stream` need `sojourn[spark]`, on a cluster also `ship`.
"""

from .shipping import ship

__all__ = ["ship"]
