package dev.holdfast.tck;

import dev.holdfast.spi.SessionStore;
import java.time.Duration;

/** What a test needs of a store: an open one, empty at first, and the time it follows. Each test gets a bed of its own. */
public interface StoreBed extends AutoCloseable {
    /** The store, open. */
    SessionStore store();

    /** The time that the store follows, in milliseconds since 1970. */
    long millis();

    /** Lets that time pass. */
    void advance(Duration duration);

    /** Closes the store, and removes what it kept. */
    @Override
    void close();
}
