package dev.holdfast.it;

import java.io.UncheckedIOException;
import java.time.Duration;

/** The two seconds for which a server reads what still comes of a body that it has refused. */
final class Linger {
    private static final Duration MOST = Duration.ofMillis(1_900);

    private static final int TRIES = 3;

    private Linger() {}

    /** What a client sends, and the answer that it reads. */
    @FunctionalInterface
    interface Sending {
        void run() throws Exception;
    }

    /** Runs something that has to succeed in that time; again, up to three times in all, where this machine has taken longer and it failed. */
    static void within(Sending sending) throws Exception {
        for (int left = TRIES - 1; ; left--) {
            long start = System.nanoTime();
            try {
                sending.run();
                return;
            } catch (UncheckedIOException | AssertionError e) {
                if (left == 0 || System.nanoTime() - start < MOST.toNanos()) {
                    throw e;
                }
            }
        }
    }
}
