"""acks=all with a lagging follower: one slow replica makes every write wait, until it is out of sync.

python -m examples.kafka.acks_all
"""

from __future__ import annotations

from sojourn.kafka import Cluster, Settings, TopicPartition
from sojourn.testing import ManualClock

ORDERS = TopicPartition("orders", 0)


def main() -> None:
    """Write now and then, while broker 2 is cut off from the others and, later, back."""
    clock = ManualClock()
    with Cluster(brokers=3, clock=clock, settings=Settings(replica_lag_ms=10_000)) as cluster:
        cluster.create_topic("orders", partitions=1, replicas=3, min_insync_replicas=2)

        def write(what: str, timeout_ms: int) -> None:
            began_ms, in_sync = clock.now_ms, cluster.state("orders", 0).isr
            produce = cluster.leader("orders", 0).produce({ORDERS: [what.encode()]}, "all", timeout_ms)
            result = produce.result()[ORDERS]  # on a ManualClock, waiting moves the clock
            waited = f"{clock.now_ms - began_ms:>6,} ms  {result.error.name}"
            print(f"{began_ms / 1000:5.1f} s  {what:<24}{in_sync!s:<11}{waited}")

        print("at       write                   in sync      waited  answer")
        write("all is well", 30_000)
        clock.advance(2_000)
        cluster.network.cut([2], [0, 1])
        write("broker 2 is cut off", 5_000)
        write("a more patient writer", 30_000)
        write("broker 2 is out of sync", 30_000)
        cluster.network.heal()
        clock.advance(3_000)
        write("broker 2 has caught up", 30_000)
        offsets = [broker.replicas.replicas[ORDERS].log.end_offset for broker in cluster.brokers.values()]
        print(f"\nends of the three logs: {offsets}; the write that timed out is in them too")


if __name__ == "__main__":
    main()
