package dev.holdfast.gateway.process;

import java.time.Duration;

/** Options of children that only tests need, each as the others with one value replaced. */
public final class TestOptions {
    private TestOptions() {}

    public static StdioOptions lineBytes(StdioOptions other, int value) {
        return with(other, value, other.queuedBytes(), other.uncommittedBytes(), other.pingTimeout());
    }

    public static StdioOptions queuedBytes(StdioOptions other, long value) {
        return with(other, other.lineBytes(), value, other.uncommittedBytes(), other.pingTimeout());
    }

    public static StdioOptions uncommittedBytes(StdioOptions other, long value) {
        return with(other, other.lineBytes(), other.queuedBytes(), value, other.pingTimeout());
    }

    public static StdioOptions pingTimeout(StdioOptions other, Duration value) {
        return with(other, other.lineBytes(), other.queuedBytes(), other.uncommittedBytes(), value);
    }

    private static StdioOptions with(
            StdioOptions other, int lineBytes, long queuedBytes, long uncommittedBytes, Duration pingTimeout) {
        return new StdioOptions(
                other.startTimeout(),
                lineBytes,
                queuedBytes,
                uncommittedBytes,
                other.closeGrace(),
                other.termGrace(),
                pingTimeout,
                other.showErrors());
    }

    /** The defaults with other times for the end of a child. */
    public static StdioOptions graces(Duration close, Duration term) {
        StdioOptions other = StdioOptions.DEFAULT;
        return new StdioOptions(
                other.startTimeout(),
                other.lineBytes(),
                other.queuedBytes(),
                other.uncommittedBytes(),
                close,
                term,
                other.pingTimeout(),
                other.showErrors());
    }
}
