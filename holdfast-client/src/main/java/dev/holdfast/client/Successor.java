package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A session that a server has opened when it was asked whether it has lost another one. It ends soon unless somebody goes on in it.
 * Thread-safe.
 */
public final class Successor {
    private static final long LIFE_MILLIS = 30_000;

    private final Optional<String> id;
    private final Envelope answer;
    private final AtomicBoolean taken = new AtomicBoolean();

    /**
     * @param answer what the server has answered to its {@code initialize}
     * @param end ends it where nobody wants it
     */
    Successor(Optional<String> id, Envelope answer, RemoteServer server, Runnable end) {
        this.id = id;
        this.answer = answer;
        server.later(LIFE_MILLIS, () -> {
            if (take()) {
                end.run();
            }
        });
    }

    /** Somebody wants to go on in it; false if that is too late, or was done. */
    boolean take() {
        return taken.compareAndSet(false, true);
    }

    Optional<String> id() {
        return id;
    }

    Envelope answer() {
        return answer;
    }
}
