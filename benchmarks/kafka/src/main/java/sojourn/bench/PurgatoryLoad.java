package sojourn.bench;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;

/** The open-loop load, planned, played and counted as in purgatory_load.py. */
final class PurgatoryLoad {
    private static final double SECONDS = 3;
    private static final double WARM_UP_SECONDS = 2;
    private static final int WARM_UPS = 3;
    private static final long NS_PER_MS = 1_000_000;

    private final LoadPlan plan;
    private final long[] endedAt;
    private final boolean[] hasExpired;
    private final Timed[] pending;
    private final CountDownLatch ended;
    private long startNs;

    private PurgatoryLoad(LoadPlan plan) {
        this.plan = plan;
        endedAt = new long[plan.n];
        hasExpired = new boolean[plan.n];
        pending = new Timed[plan.n];
        ended = new CountDownLatch(plan.n);
    }

    /** CPU a request and lateness in a first pass; memory, at the last arrival, in a second. */
    static List<Row> measure(int rate) throws Exception {
        for (int i = 0; i < WARM_UPS; i++) {
            new PurgatoryLoad(new LoadPlan(rate, WARM_UP_SECONDS)).cpuNs();
        }
        LoadPlan plan = new LoadPlan(rate, SECONDS);
        PurgatoryLoad load = new PurgatoryLoad(plan);
        double cpuNs = load.cpuNs() / (double) plan.n;
        double[] completed = load.lateMs(false);
        double[] expired = load.lateMs(true);
        Row row = new Row("load").with("cpu_ns", cpuNs).with("bytes", new PurgatoryLoad(plan).bytes())
            .with("expired", expired.length / (double) plan.n);
        quantiles(row, "complete", completed);
        quantiles(row, "expire", expired);
        return List.of(row);
    }

    private static void quantiles(Row row, String what, double[] late) {
        row.with(what + "_p50_ms", RealClock.quantile(late, 0.5)).with(what + "_p99_ms", RealClock.quantile(late, 0.99))
            .with(what + "_p999_ms", RealClock.quantile(late, 0.999)).with(what + "_min_ms", late[0]);
    }

    /** CPU of the whole process until the last has ended. */
    private long cpuNs() throws Exception {
        DelayedOperationPurgatory<Request> purgatory = Purgatories.withReaper();
        System.gc();
        long start = Bench.cpuNs();
        play(purgatory, plan.arriving.length);
        ended.await();
        long cpuNs = Bench.cpuNs() - start;
        purgatory.shutdown();
        return cpuNs;
    }

    /** Growth of the used heap until the last arrival, while requests come and go. */
    private long bytes() throws Exception {
        DelayedOperationPurgatory<Request> purgatory = Purgatories.withReaper();
        long empty = Memory.usedBytes();
        play(purgatory, plan.lastArrivalMs + 1);
        long bytes = Memory.usedBytes() - empty;
        purgatory.shutdown();
        return bytes;
    }

    /** Do everything in its millisecond. */
    private void play(DelayedOperationPurgatory<Request> purgatory, int untilMs) {
        startNs = System.nanoTime() + NS_PER_MS;
        for (int atMs = 0; atMs < untilMs; atMs++) {
            sleepUntil(startNs + atMs * NS_PER_MS);
            for (int i : plan.arriving[atMs]) {
                Timed request = new Timed(i);
                if (!plan.expires(i)) {
                    pending[i] = request;
                }
                purgatory.tryCompleteElseWatch(request, plan.keys.get(i));
            }
            for (int i : plan.completing[atMs]) {
                pending[i].forceComplete();
                pending[i] = null;
            }
        }
    }

    /** Thread.sleep would round up to whole milliseconds. */
    private static void sleepUntil(long ns) {
        for (long left = ns - System.nanoTime(); left > 0; left = ns - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** How long after the planned instant they were told, ascending: the expired, or the completed. */
    private double[] lateMs(boolean expired) {
        double[] late = IntStream.range(0, plan.n).filter(i -> hasExpired[i] == expired).mapToDouble(i -> {
            int dueMs = expired ? plan.arrivesMs[i] + LoadPlan.TIMEOUT_MS : plan.completesMs[i];
            return (endedAt[i] - startNs) / (double) NS_PER_MS - dueMs;
        }).toArray();
        Arrays.sort(late);
        return late;
    }

    /** Completes when its time has come, and writes down when it was told. */
    private final class Timed extends Request {
        private final int number;
        private final long completesAt;

        Timed(int number) {
            super(LoadPlan.TIMEOUT_MS, null);
            this.number = number;
            completesAt = startNs + plan.completesMs[number] * NS_PER_MS;
        }

        @Override
        public boolean tryComplete() {
            return System.nanoTime() >= completesAt && forceComplete();
        }

        @Override
        public void onComplete() {
            endedAt[number] = System.nanoTime();
            ended.countDown();
        }

        @Override
        public void onExpiration() {
            hasExpired[number] = true;
        }
    }
}
