package sojourn.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import sojourn.bench.Request.Key;

/** What happens when, by the request's number: drawn as in purgatory_load.py, which says what and why. */
final class LoadPlan {
    static final int TIMEOUT_MS = 200;
    private static final double P50_MS = 20;
    private static final double P75_MS = 60;
    private static final double UPPER_QUARTILE = 0.674490;
    private static final int KEYS = 3;
    private static final int KEY_SPACE = 100;

    final int n;
    final int[] arrivesMs;
    final int[] completesMs;
    final List<List<Key>> keys;
    final int lastArrivalMs;
    /** For each millisecond. */
    final int[][] arriving;
    final int[][] completing;

    LoadPlan(int rate, double seconds) {
        n = (int) (rate * seconds);
        arrivesMs = new int[n];
        completesMs = new int[n];
        Random random = new Random(Bench.SEED);
        double sigma = Math.log(P75_MS / P50_MS) / UPPER_QUARTILE;
        double at = 0;
        for (int i = 0; i < n; i++) {
            at -= Math.log(1 - random.nextDouble()) / rate * 1_000;
            arrivesMs[i] = (int) at;
            completesMs[i] = (int) at + (int) Math.exp(random.nextGaussian() * sigma + Math.log(P50_MS));
        }
        List<Key> space = IntStream.range(0, KEY_SPACE).mapToObj(i -> new Key("key-" + i)).toList();
        keys = IntStream.range(0, n)
            .mapToObj(i -> random.ints(0, KEY_SPACE).distinct().limit(KEYS).mapToObj(space::get).toList()).toList();
        lastArrivalMs = arrivesMs[n - 1];
        arriving = byMs(arrivesMs, IntStream.range(0, n).toArray());
        completing = byMs(completesMs, IntStream.range(0, n).filter(i -> !expires(i)).toArray());
    }

    boolean expires(int i) {
        return completesMs[i] - arrivesMs[i] >= TIMEOUT_MS;
    }

    /** The chosen requests, listed under the millisecond that they have. */
    private int[][] byMs(int[] ms, int[] chosen) {
        int[][] listed = new int[lastArrivalMs + TIMEOUT_MS + 1][];
        Arrays.setAll(listed, i -> new int[0]);
        for (int i : chosen) {
            int[] there = listed[ms[i]];
            listed[ms[i]] = Arrays.copyOf(there, there.length + 1);
            listed[ms[i]][there.length] = i;
        }
        return listed;
    }
}
