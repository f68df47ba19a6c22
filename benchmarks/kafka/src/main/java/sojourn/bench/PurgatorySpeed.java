package sojourn.bench;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import sojourn.bench.Request.Gate;
import sojourn.bench.Request.Key;

/** watch, complete, one_at_a_time and already, each with one key and with three; a reaper of its own is running. */
final class PurgatorySpeed {
    private static final long[] NOTHING = {0, 0};

    private final int n;
    private final long[] delays;
    private final Map<Integer, List<List<Key>>> own = new HashMap<>();
    private final Map<Integer, List<List<Key>>> inUse = new HashMap<>();
    private final Figures figures = new Figures();
    private boolean warm;

    private PurgatorySpeed(int n) {
        this.n = n;
        delays = Purgatories.pendingDelays(n);
        for (int count : Purgatories.KEY_COUNTS) {
            own.put(count, Purgatories.ownKeys(n, count));
            inUse.put(count, Purgatories.keysInUse(n, count));
        }
    }

    /** Warmed up with at least a million of each operation and three full rounds, then the best of three or more. */
    static List<Row> measure(int n) throws Exception {
        PurgatorySpeed speed = new PurgatorySpeed(n);
        for (int i = 0; i < Math.max(3, 1_000_000 / n); i++) {
            speed.round();
        }
        speed.figures.clear();
        speed.warm = true;
        for (int i = 0; i < Math.max(3, 200_000 / n); i++) {
            speed.round();
        }
        return speed.figures.rows();
    }

    private void round() throws Exception {
        for (int count : Purgatories.KEY_COUNTS) {
            watchComplete(own.get(count), count);
            alone(inUse.get(count), count);
        }
    }

    private void watchComplete(List<List<Key>> keys, int count) throws Exception {
        Gate gate = new Gate();
        DelayedOperationPurgatory<Request> purgatory = Purgatories.withReaper();
        long[] watched = timed(() -> Purgatories.watch(purgatory, gate, delays, keys));
        Purgatories.expect(purgatory, n);
        gate.isOpen = true;
        long[] completed = timed(() -> Purgatories.complete(purgatory, keys));
        Purgatories.expect(purgatory, 0);
        purgatory.shutdown();
        figures.see("watch_" + count, n, watched);
        figures.see("complete_" + count, n, completed);
        figures.see("watch_complete_" + count, n, watched, completed);
    }

    private void alone(List<List<Key>> keys, int count) throws Exception {
        Gate gate = new Gate();
        DelayedOperationPurgatory<Request> purgatory = Purgatories.withReaper();
        figures.see("one_at_a_time_" + count, n, timed(() -> Purgatories.oneAtATime(purgatory, gate, delays, keys)));
        gate.isOpen = true;
        figures.see("already_" + count, n, timed(() -> Purgatories.watch(purgatory, gate, delays, keys)));
        Purgatories.expect(purgatory, 0);
        purgatory.shutdown();
    }

    /** Before the code is warm, run the section and no more: collecting the heap each time would take most of it. */
    private long[] timed(Bench.Section section) throws Exception {
        if (warm) {
            return Figures.timed(section);
        }
        section.run();
        return NOTHING;
    }
}
