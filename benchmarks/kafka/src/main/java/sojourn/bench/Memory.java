package sojourn.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.server.util.timer.SystemTimer;

/** Bytes a task, from the heap in use after collections: pending, and still held once all are cancelled and let go. */
final class Memory {
    private Memory() {}

    static List<Row> measure(int n) throws Exception {
        fill(1_000);
        return fill(n);
    }

    private static List<Row> fill(int n) throws Exception {
        Task[] handles = new Task[n];
        long[] delays = Bench.uniform(n, Bench.LONG_MS, Bench.SEED);
        List<Row> rows = new ArrayList<>();
        try (SystemTimer timer = new SystemTimer("bench")) {
            long empty = usedBytes();
            Bench.fill(timer, handles, delays);
            rows.add(new Row("bytes_pending").with("bytes", (usedBytes() - empty) / (double) n));
            Bench.cancel(handles);
            Arrays.fill(handles, null);
            rows.add(new Row("bytes_held").with("bytes", (usedBytes() - empty) / (double) n));
            timer.advanceClock(0);
            rows.add(new Row("bytes_held_after_turn").with("bytes", (usedBytes() - empty) / (double) n));
        }
        return rows;
    }

    static long usedBytes() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(20);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
