"""The rooms that import PySpark: reading, parcels, what runs on executors."""

import os as _os

from ..._arguments import is_set as _is_set

if _is_set(_os.environ.get("SOJOURN_NO_PANDAS")):  # in the workers of a session in which nobody else has tasks
    from ..no_pandas import without_pandas as _without_pandas

    _without_pandas()
