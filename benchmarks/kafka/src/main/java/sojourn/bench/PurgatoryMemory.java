package sojourn.bench;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import sojourn.bench.Request.Gate;
import sojourn.bench.Request.Key;

/** Bytes an operation on keys of its own, from the heap in use after collections: pending, and once all completed. */
final class PurgatoryMemory {
    private PurgatoryMemory() {}

    static List<Row> measure(int n) throws Exception {
        fill(1_000);
        return fill(n);
    }

    private static List<Row> fill(int n) throws Exception {
        List<Row> rows = new ArrayList<>();
        long[] delays = Purgatories.pendingDelays(n);
        for (int count : Purgatories.KEY_COUNTS) {
            List<List<Key>> keys = Purgatories.ownKeys(n, count);
            Gate gate = new Gate();
            DelayedOperationPurgatory<Request> purgatory = Purgatories.withReaper();
            long empty = Memory.usedBytes();
            Purgatories.watch(purgatory, gate, delays, keys);
            rows.add(new Row("bytes_pending_" + count).with("bytes", (Memory.usedBytes() - empty) / (double) n));
            gate.isOpen = true;
            Purgatories.complete(purgatory, keys);
            rows.add(new Row("bytes_held_" + count).with("bytes", (Memory.usedBytes() - empty) / (double) n));
            purgatory.shutdown();
        }
        return rows;
    }
}
