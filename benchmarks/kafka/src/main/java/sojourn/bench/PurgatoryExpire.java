package sojourn.bench;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.util.timer.SystemTimer;
import sojourn.bench.Request.Gate;
import sojourn.bench.Request.Key;

/** n operations that are all due, drained by one advanceClock; the timer's executor thread runs them. The purge that
 * would take them off their lists belongs to the reaper, which is not there: it is not in the figure. */
final class PurgatoryExpire {
    private static final int EXPIRE_MS = 1_000;
    private static final int WARM_UP_MS = 50;

    private PurgatoryExpire() {}

    /** Best of three after the warm-up. */
    static List<Row> measure(int n) throws Exception {
        Figures figures = new Figures();
        for (int count : Purgatories.KEY_COUNTS) {
            List<List<Key>> keys = Purgatories.ownKeys(n, count);
            for (int i = 0; i < Math.min(50, Math.max(5, 1_000_000 / n)); i++) {
                drain(keys, count, WARM_UP_MS, new Figures());
            }
            for (int i = 0; i < 3; i++) {
                drain(keys, count, EXPIRE_MS, figures);
            }
        }
        return figures.rows();
    }

    private static void drain(List<List<Key>> keys, int count, int toMs, Figures figures) throws Exception {
        int n = keys.size();
        long[] delays = Bench.uniform(n, toMs, Bench.SEED);
        CountDownLatch done = new CountDownLatch(1);
        SystemTimer timer = Purgatories.timer();
        DelayedOperationPurgatory<Request> purgatory = Purgatories.withoutReaper(timer);
        long[] watched = Figures.timed(() -> Purgatories.watch(purgatory, new Gate(), delays, keys));
        timer.add(Task.of(toMs + 1, done::countDown));
        Thread.sleep(toMs + 50);
        long[] expired = Figures.timed(() -> {
            timer.advanceClock(0);
            done.await();
        });
        Purgatories.expect(purgatory, 0);
        purgatory.shutdown();
        figures.see("expire_" + count, n, expired);
        figures.see("watch_expire_" + count, n, watched, expired);
    }
}
