package sojourn.bench;

import java.util.List;
import org.apache.kafka.common.utils.AppInfoParser;

/** Measures one part of a workload on Kafka's SystemTimer or purgatory and prints one line of JSON. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.err.println("usage: Main timer speed|expire|memory|real_clock N, or purgatory ...|load N");
            System.exit(2);
        }
        // A reaper that nobody shut down would keep a failed run from ending.
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            failure.printStackTrace();
            System.exit(1);
        });
        int n = Integer.parseInt(args[2]);
        List<Row> rows = switch (args[0] + " " + args[1]) {
            case "timer speed" -> Speed.measure(n);
            case "timer expire" -> Expire.measure(n);
            case "timer memory" -> Memory.measure(n);
            case "timer real_clock" -> RealClock.measure(n);
            case "purgatory speed" -> PurgatorySpeed.measure(n);
            case "purgatory expire" -> PurgatoryExpire.measure(n);
            case "purgatory memory" -> PurgatoryMemory.measure(n);
            case "purgatory load" -> PurgatoryLoad.measure(n);
            default -> throw new IllegalArgumentException("no such part: " + args[0] + " " + args[1]);
        };
        System.out.printf("{\"version\": \"%s\", \"rows\": %s}%n", AppInfoParser.getVersion(), rows);
        System.exit(0);
    }
}
