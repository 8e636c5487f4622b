package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** How the application introduced itself, and what its server promised: what another session needs to begin like the first. Thread-safe. */
final class Introduction {
    private final AtomicInteger ids = new AtomicInteger();
    private volatile Optional<Said> said = Optional.empty();
    private volatile boolean initialized;
    private volatile byte lists;

    /** The request, and what came with it. */
    record Said(Envelope initialize, Object context) {}

    /** The application has introduced itself. */
    void said(Envelope initialize, Object context) {
        said = Optional.of(new Said(initialize, context));
        initialized = false;
    }

    Optional<Said> said() {
        return said;
    }

    /** The application has told that it is ready. */
    void initialized() {
        initialized = true;
    }

    boolean isInitialized() {
        return initialized;
    }

    /** The server promises to tell of changes in these lists. */
    void promised(byte changing) {
        lists = changing;
    }

    byte promised() {
        return lists;
    }

    /** A request of this client's own, like that of the application, with an id that the application does not use. */
    int nextId() {
        return ids.incrementAndGet();
    }
}
