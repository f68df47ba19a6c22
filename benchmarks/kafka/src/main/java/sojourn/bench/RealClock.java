package sojourn.bench;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.SystemTimerReaper;

/** Expiry on a real clock with Kafka's own reaper and the timer's executor; counted as in timer_real_clock.py. */
final class RealClock {
    private static final int REAL_CLOCK_MS = 2_000;
    private static final int WARM_UP_MS = 250;
    private static final int WARM_UPS = 10;

    private RealClock() {}

    /** Ten short passes and one full one warm up; then one pass for the CPU and one for lateness. */
    static List<Row> measure(int n) throws Exception {
        for (int i = 0; i < WARM_UPS; i++) {
            cpuATask(n, WARM_UP_MS);
            latenessMs(n, WARM_UP_MS);
        }
        cpuATask(n, REAL_CLOCK_MS);
        double cpuNs = cpuATask(n, REAL_CLOCK_MS);
        double[] late = latenessMs(n, REAL_CLOCK_MS);
        return List.of(new Row("real_clock")
            .with("cpu_ns", cpuNs)
            .with("p50_ms", quantile(late, 0.5))
            .with("p99_ms", quantile(late, 0.99))
            .with("max_ms", late[late.length - 1])
            .with("min_ms", late[0]));
    }

    /** CPU of the whole process from the last add until all have run, over the tasks that were left by then. */
    private static double cpuATask(int n, int toMs) throws Exception {
        Task[] handles = new Task[n];
        long[] delays = Bench.uniform(n, toMs, Bench.SEED);
        CountDownLatch done = new CountDownLatch(1);
        System.gc();
        SystemTimer timer = new SystemTimer("bench");
        try (SystemTimerReaper reaper = new SystemTimerReaper("reaper", timer)) {
            Bench.fill(timer, handles, delays);
            timer.add(Task.of(toMs + 1, done::countDown));
            int left = Math.max(1, timer.size());
            long start = Bench.cpuNs();
            done.await();
            return (Bench.cpuNs() - start) / (double) left;
        }
    }

    /** The task's own reading of the clock less its requested deadline, ascending; without those due before all
     * had been added. */
    private static double[] latenessMs(int n, int toMs) throws Exception {
        Task[] handles = new Task[n];
        long[] delays = Bench.uniform(n, toMs, Bench.SEED);
        long[] deadlines = new long[n];
        long[] ranAt = new long[n];
        CountDownLatch done = new CountDownLatch(1);
        System.gc();
        SystemTimer timer = new SystemTimer("bench");
        try (SystemTimerReaper reaper = new SystemTimerReaper("reaper", timer)) {
            for (int i = 0; i < n; i++) {
                deadlines[i] = System.nanoTime() + delays[i] * 1_000_000;
                Task task = new Recorder(delays[i], ranAt, i);
                timer.add(task);
                handles[i] = task;
            }
            long added = System.nanoTime();
            timer.add(Task.of(toMs + 1, done::countDown));
            done.await();
            double[] late = IntStream.range(0, n).filter(i -> deadlines[i] > added)
                .mapToDouble(i -> (ranAt[i] - deadlines[i]) / 1e6).toArray();
            Arrays.sort(late);
            return late;
        }
    }

    static double quantile(double[] ordered, double q) {
        return ordered[Math.min(ordered.length - 1, (int) (q * ordered.length))];
    }

    /** Writes down when it ran. */
    private static final class Recorder extends Task {
        private final long[] ranAt;
        private final int index;

        Recorder(long delayMs, long[] ranAt, int index) {
            super(delayMs);
            this.ranAt = ranAt;
            this.index = index;
        }

        @Override
        public void run() {
            ranAt[index] = System.nanoTime();
        }
    }
}
