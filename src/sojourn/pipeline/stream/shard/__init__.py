"""What runs on Spark's executors, shard by shard. `shard.py` is the step; read it first.

pack       rows into one payload per shard, payloads into rows
processor  shards as Spark runs them: one stateful operator, one timer each
shard      a step: events and a watermark in, outcomes out
ruleset    the rules of a stream: each takes the events that it can use
segment    what a shard keeps, as a log of segments
nearby     segments as files, for the other Python processes of an executor
groups     what was kept and what has just come, key by key
decide     what is final under the watermark, and what must be kept of the rest (`keep`, `forget`, `remove`)
shape      the types of what travels and of what is kept
"""
