package sojourn.bench;

import org.apache.kafka.server.util.timer.TimerTask;

/** The trivial task. */
class Task extends TimerTask {
    Task(long delayMs) {
        super(delayMs);
    }

    @Override
    public void run() {}

    /** A task that runs `action`. */
    static Task of(long delayMs, Runnable action) {
        return new Task(delayMs) {
            @Override
            public void run() {
                action.run();
            }
        };
    }
}
