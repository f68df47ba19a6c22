package sojourn.bench;

import java.util.List;
import org.apache.kafka.common.utils.AppInfoParser;

/** Measures one part of the timer workload on Kafka's SystemTimer and prints one line of JSON. */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: Main speed|expire|memory|real_clock N");
            System.exit(2);
        }
        int n = Integer.parseInt(args[1]);
        List<Row> rows = switch (args[0]) {
            case "speed" -> Speed.measure(n);
            case "expire" -> Expire.measure(n);
            case "memory" -> Memory.measure(n);
            case "real_clock" -> RealClock.measure(n);
            default -> throw new IllegalArgumentException("no such part: " + args[0]);
        };
        System.out.printf("{\"version\": \"%s\", \"rows\": %s}%n", AppInfoParser.getVersion(), rows);
        System.exit(0);
    }
}
