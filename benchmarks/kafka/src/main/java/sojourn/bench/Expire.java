package sojourn.bench;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.server.util.timer.SystemTimer;

/** n tasks that are all due, drained by one advanceClock; the timer's executor thread runs them. */
final class Expire {
    private static final int EXPIRE_MS = 1_000;
    private static final int WARM_UP_MS = 50;

    private Expire() {}

    /** Wall time until the last has run, and the CPU of all threads meanwhile; best of three after the warm-up. */
    static List<Row> measure(int n) throws Exception {
        for (int i = 0; i < Math.min(50, Math.max(5, 3_000_000 / n)); i++) {
            drain(n, WARM_UP_MS);
        }
        double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
        for (int i = 0; i < 3; i++) {
            double[] found = drain(n, EXPIRE_MS);
            best[0] = Math.min(best[0], found[0]);
            best[1] = Math.min(best[1], found[1]);
        }
        return List.of(new Row("expire").with("ns", best[0]).with("cpu_ns", best[1]));
    }

    private static double[] drain(int n, int toMs) throws Exception {
        Task[] handles = new Task[n];
        CountDownLatch done = new CountDownLatch(1);
        try (SystemTimer timer = new SystemTimer("bench")) {
            Bench.fill(timer, handles, Bench.uniform(n, toMs, Bench.SEED));
            timer.add(Task.of(toMs + 1, done::countDown));
            Thread.sleep(toMs + 50);
            long[] cpu = new long[1];
            long wall = Bench.timed(() -> {}, () -> {
                cpu[0] = Bench.cpuNs();
                timer.advanceClock(0);
                done.await();
            });
            return new double[] {wall / (double) n, (Bench.cpuNs() - cpu[0]) / (double) n};
        }
    }
}
