package sojourn.bench;

import org.apache.kafka.server.purgatory.DelayedOperation;
import org.apache.kafka.server.purgatory.DelayedOperationKey;

/** An operation that completes when the gate is open; nothing follows. */
class Request extends DelayedOperation {
    private final Gate gate;

    Request(long delayMs, Gate gate) {
        super(delayMs);
        this.gate = gate;
    }

    @Override
    public boolean tryComplete() {
        return gate.isOpen && forceComplete();
    }

    @Override
    public void onComplete() {}

    @Override
    public void onExpiration() {}

    /** The condition. */
    static final class Gate {
        volatile boolean isOpen;
    }

    /** Text, as the Python peers have it. */
    record Key(String keyLabel) implements DelayedOperationKey {}
}
