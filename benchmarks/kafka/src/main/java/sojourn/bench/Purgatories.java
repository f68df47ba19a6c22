package sojourn.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.Timer;
import sojourn.bench.Request.Gate;
import sojourn.bench.Request.Key;

/** What the parts of the purgatory workload share; the same keys and the same loops as in purgatory_ops.py. */
final class Purgatories {
    static final int[] KEY_COUNTS = {1, 3};
    private static final int IN_USE = 1_000;
    private static final int PENDING_MS = 600_000;

    private Purgatories() {}

    /** With the defaults: a reaper thread, which also purges. */
    static DelayedOperationPurgatory<Request> withReaper() {
        return new DelayedOperationPurgatory<>("bench", 0);
    }

    /** Moved by hand, through its timer. */
    static DelayedOperationPurgatory<Request> withoutReaper(Timer timer) {
        return new DelayedOperationPurgatory<>("bench", timer, 0, false);
    }

    static SystemTimer timer() {
        return new SystemTimer("bench");
    }

    /** Delays that do not end meanwhile. */
    static long[] pendingDelays(int n) {
        return Arrays.stream(Bench.uniform(n, Bench.LONG_MS, Bench.SEED)).map(delay -> PENDING_MS + delay).toArray();
    }

    /** For each of n operations as many keys as `count`, that no other has. */
    static List<List<Key>> ownKeys(int n, int count) {
        return IntStream.range(0, n)
            .mapToObj(i -> IntStream.range(0, count).mapToObj(j -> new Key("topic-" + i + "-" + j)).toList())
            .toList();
    }

    /** The same out of IN_USE keys, each operation with others than the one before. */
    static List<List<Key>> keysInUse(int n, int count) {
        List<Key> keys = IntStream.range(0, IN_USE).mapToObj(i -> new Key("topic-" + i)).toList();
        List<List<Key>> taken = new ArrayList<>(IN_USE);
        for (int i = 0; i < IN_USE; i++) {
            int first = i;
            taken.add(IntStream.range(0, count).mapToObj(j -> keys.get((first + j * IN_USE / count) % IN_USE)).toList());
        }
        return IntStream.range(0, n).mapToObj(i -> taken.get(i % IN_USE)).toList();
    }

    static void watch(DelayedOperationPurgatory<Request> purgatory, Gate gate, long[] delays, List<List<Key>> keys) {
        for (int i = 0; i < delays.length; i++) {
            purgatory.tryCompleteElseWatch(new Request(delays[i], gate), keys.get(i));
        }
    }

    /** By its first key. */
    static void complete(DelayedOperationPurgatory<Request> purgatory, List<List<Key>> keys) {
        for (List<Key> own : keys) {
            purgatory.checkAndComplete(own.get(0));
        }
    }

    static void oneAtATime(DelayedOperationPurgatory<Request> purgatory, Gate gate, long[] delays, List<List<Key>> keys) {
        for (int i = 0; i < delays.length; i++) {
            List<Key> own = keys.get(i);
            gate.isOpen = false;
            purgatory.tryCompleteElseWatch(new Request(delays[i], gate), own);
            gate.isOpen = true;
            purgatory.checkAndComplete(own.get(0));
        }
    }

    /** Fails aloud unless so many are pending. */
    static void expect(DelayedOperationPurgatory<Request> purgatory, int delayed) {
        if (purgatory.numDelayed() != delayed) {
            throw new AssertionError(purgatory.numDelayed() + " operations are pending, not " + delayed);
        }
    }
}
