package sojourn.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import org.apache.kafka.server.util.timer.SystemTimer;

/** What the parts share; the same delays (in distribution) and the same loops as the Python peers have. */
final class Bench {
    static final long SEED = 20;
    static final int LONG_MS = 60_000;

    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Bench() {}

    /** n whole delays, uniform in 1 to toMs, always the same. */
    static long[] uniform(int n, int toMs, long seed) {
        return new Random(seed).longs(n, 1, toMs + 1L).toArray();
    }

    static void fill(SystemTimer timer, Task[] handles, long[] delays) {
        for (int i = 0; i < delays.length; i++) {
            Task task = new Task(delays[i]);
            timer.add(task);
            handles[i] = task;
        }
    }

    static void cancel(Task[] handles) {
        for (Task handle : handles) {
            handle.cancel();
        }
    }

    static void shuffle(Task[] handles) {
        Collections.shuffle(Arrays.asList(handles), new Random(SEED));
    }

    /** CPU of the whole process: reaper, executor, garbage collector and compiler threads too. Ticks of 10 ms. */
    static long cpuNs() {
        return SYSTEM.getProcessCpuTime();
    }

    /**
     * Wall time of one section that starts from a collected heap. What is done before it comes after the collection,
     * which may lay objects out in the order of the array that holds them: shuffled before, they would lie in a row.
     */
    static long timed(Section before, Section section) throws Exception {
        System.gc();
        before.run();
        long start = System.nanoTime();
        section.run();
        return System.nanoTime() - start;
    }

    interface Section {
        void run() throws Exception;
    }
}
