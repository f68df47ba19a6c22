"""Operations from a stream of their own, each on one key or on several, beside the events.

Two stateful steps. In the first, by key, events meet the operations that wait on their key: each such pair is handed on
once, as soon as both are there. In the second, by operation, what was handed on is decided as in any stream, over the
same kernel, and the ids of operations are told apart. Both see the same watermark in the same micro-batch.
"""
