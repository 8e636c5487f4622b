package dev.holdfast.session;

import dev.holdfast.spi.BackendConnection;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The incarnations of a session's backend, counted from 1, and the connection to the latest while there is one. Used inside a step. */
final class Incarnations {
    private int latest;
    private int lastGone;
    private @Nullable BackendConnection connection;

    /** The latest; 0 before the first. */
    int latest() {
        return latest;
    }

    /** Counts the next one, which has no connection yet. */
    int next() {
        return ++latest;
    }

    /** Whether this is the latest, and not gone. */
    boolean present(int which) {
        return which == latest && which != lastGone;
    }

    /** The connection to the latest, while there is one. */
    @Nullable BackendConnection connection() {
        return connection;
    }

    /** The latest has got its connection. */
    void connected(BackendConnection fresh) {
        connection = fresh;
    }

    /** It is gone, and says nothing any more. */
    void gone(int which) {
        lastGone = which;
    }

    /** Gives the connection away, to be closed. */
    Optional<BackendConnection> disconnect() {
        Optional<BackendConnection> last = Optional.ofNullable(connection);
        connection = null;
        return last;
    }
}
