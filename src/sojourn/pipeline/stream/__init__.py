"""The law over Spark's streams: the outcomes of `batch`, told while events are still coming.

outcomes = stream.outcomes(events, rule, key="case_id", kind="activity", at="timestamp", late="1 hour")
query = stream.write(outcomes, "outcomes/", checkpoint="checkpoint/")
"""

import pyspark

from ..spark.version import check_version
from .checkpoint.pending import pending as pending
from .doors.kafka import messages as messages
from .doors.own_sink import deliver as deliver
from .doors.sink import MicroBatch as MicroBatch
from .doors.sink import start as start
from .doors.sink import write as write
from .frame import METRICS as METRICS
from .frame import decided as decided
from .frame import outcomes as outcomes
from .frame import set_aside as set_aside

check_version(pyspark.__version__)
