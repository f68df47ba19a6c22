"""A long poll: a fetch with min bytes and max wait is answered when enough is there, or when its time is up.

python -m examples.kafka.long_poll
"""

from __future__ import annotations

from sojourn.kafka import Cluster, DelayedFetch, TopicPartition
from sojourn.testing import ManualClock

CLICKS = TopicPartition("clicks", 0)


def main() -> None:
    """Three consumers wait for different amounts while records of 40 bytes trickle in, four per second."""
    clock = ManualClock()
    with Cluster(brokers=3, clock=clock) as cluster:
        cluster.create_topic("clicks", partitions=1, replicas=3)
        leader, began_ms = cluster.leader("clicks", 0), clock.now_ms

        def poll(name: str, min_bytes: int, max_wait_ms: int) -> None:
            fetch = leader.fetch({CLICKS: 0}, min_bytes, max_wait_ms)
            fetch.then(lambda _: tell(name, fetch))

        def tell(name: str, fetch: DelayedFetch) -> None:
            response = fetch.response or {}
            read = sum(len(record.value) for record in response[CLICKS].records)
            print(f"{clock.now_ms - began_ms:>6,} ms  {name:<30} {fetch.outcome:<9} with {read:>3} bytes")

        poll("eager: 1 byte, 5 s", 1, 5_000)
        poll("thrifty: 200 bytes, 5 s", 200, 5_000)
        poll("impatient: 200 bytes, 700 ms", 200, 700)
        for i in range(8):
            clock.advance(250)
            leader.produce({CLICKS: [b"%-40d" % i]}, acks="all")
        clock.advance(1_000)


if __name__ == "__main__":
    main()
