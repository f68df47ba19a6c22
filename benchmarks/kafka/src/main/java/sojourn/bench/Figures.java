package sojourn.bench;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Of each operation the least wall time, and the mean CPU of the whole process, whose clock has ticks of 10 ms. */
final class Figures {
    private final Map<String, Seen> seen = new TreeMap<>();

    /** Wall time and CPU of one section that starts from a collected heap. */
    static long[] timed(Bench.Section section) throws Exception {
        long[] cpu = new long[1];
        long wall = Bench.timed(() -> cpu[0] = Bench.cpuNs(), section);
        return new long[] {wall, Bench.cpuNs() - cpu[0]};
    }

    /** Take in an operation's sections, for n of it. */
    void see(String op, int n, long[]... sections) {
        double wall = 0;
        double cpu = 0;
        for (long[] section : sections) {
            wall += section[0] / (double) n;
            cpu += section[1] / (double) n;
        }
        seen.merge(op, new Seen(wall, cpu, 1), Seen::and);
    }

    void clear() {
        seen.clear();
    }

    List<Row> rows() {
        return seen.entrySet().stream()
            .map(op -> new Row(op.getKey()).with("ns", op.getValue().least).with("cpu_ns", op.getValue().meanCpu()))
            .toList();
    }

    private record Seen(double least, double cpu, int times) {
        Seen and(Seen other) {
            return new Seen(Math.min(least, other.least), cpu + other.cpu, times + other.times);
        }

        double meanCpu() {
            return cpu / times;
        }
    }
}
