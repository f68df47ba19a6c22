package sojourn.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.server.util.timer.SystemTimer;

/** add, cancel, cancel_random, extend and the two churns: the timer stands still, except for a turn after each chunk of churn. */
final class Speed {
    private static final int CHURN_CHUNK = 1_000;

    private final int n;
    private final Task[] handles;
    private final long[] delays;
    private final long[] later;
    private final long[] churned;
    private final int[] places;
    private final Map<String, Double> best = new TreeMap<>();
    private boolean warm;

    private Speed(int n) {
        this.n = n;
        handles = new Task[n];
        delays = Bench.uniform(n, Bench.LONG_MS, Bench.SEED);
        later = longer(delays);
        churned = longer(Bench.uniform(n, Bench.LONG_MS, Bench.SEED + 1));
        places = new Random(Bench.SEED).ints(n, 0, n).toArray();
    }

    /** In churn the timer turns, and still nothing must fall due. */
    private static long[] longer(long[] delays) {
        return Arrays.stream(delays).map(delay -> Bench.LONG_MS + delay).toArray();
    }

    /** Warmed up with at least three million of each operation and five full rounds, then the best of five or more. */
    static List<Row> measure(int n) throws Exception {
        Speed speed = new Speed(n);
        for (int i = 0; i < Math.max(5, 3_000_000 / n); i++) {
            speed.round();
        }
        speed.warm = true;
        for (int i = 0; i < Math.max(5, 200_000 / n); i++) {
            speed.round();
        }
        return speed.best.entrySet().stream().map(op -> new Row(op.getKey()).with("ns", op.getValue())).toList();
    }

    private void round() throws Exception {
        try (SystemTimer timer = new SystemTimer("bench")) {
            see("add", () -> Bench.fill(timer, handles, delays));
            see("cancel", () -> Bench.cancel(handles));
        }
        try (SystemTimer timer = new SystemTimer("bench")) {
            see("add", () -> Bench.fill(timer, handles, delays));
            see("cancel_random", () -> Bench.shuffle(handles), () -> Bench.cancel(handles));
        }
        try (SystemTimer timer = new SystemTimer("bench")) {
            see("add", () -> Bench.fill(timer, handles, delays));
            see("extend", () -> extend(timer));
        }
        try (SystemTimer timer = new SystemTimer("bench")) {
            Bench.fill(timer, handles, later);
            see("churn_at_once", () -> churn(timer));
        }
        try (SystemTimer timer = new SystemTimer("bench")) {
            Bench.fill(timer, handles, later);
            see("churn", () -> replace(timer));
        }
    }

    /** Adding a task again moves it, with its own delay: the cheapest way that Kafka has. */
    private void extend(SystemTimer timer) {
        for (Task handle : handles) {
            timer.add(handle);
        }
    }

    private void churn(SystemTimer timer) throws InterruptedException {
        for (int i = 0; i < churned.length; i++) {
            Task task = new Task(churned[i]);
            timer.add(task);
            task.cancel();
            if (i % CHURN_CHUNK == CHURN_CHUNK - 1) {
                timer.advanceClock(0);
            }
        }
    }

    private void replace(SystemTimer timer) throws InterruptedException {
        for (int i = 0; i < churned.length; i++) {
            handles[places[i]].cancel();
            Task task = new Task(churned[i]);
            timer.add(task);
            handles[places[i]] = task;
            if (i % CHURN_CHUNK == CHURN_CHUNK - 1) {
                timer.advanceClock(0);
            }
        }
    }

    /** Before the code is warm, run the section and no more: collecting the heap each time would take most of it. */
    private void see(String op, Bench.Section before, Bench.Section section) throws Exception {
        if (warm) {
            best.merge(op, Bench.timed(before, section) / (double) n, Math::min);
        } else {
            before.run();
            section.run();
        }
    }

    private void see(String op, Bench.Section section) throws Exception {
        see(op, () -> {}, section);
    }
}
