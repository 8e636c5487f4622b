package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.spi.BackendConnection;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The incarnations of a session's backend, counted from 1: how far the latest is, and the connection to it while there is one. Used
 * inside a step.
 */
final class Incarnations {
    private BackendState state = BackendState.NEW;
    private int latest;
    private int lastGone;
    private @Nullable BackendConnection connection;
    private boolean served;
    private boolean unasked;
    private long restoringSince;
    /** Those that wait for something of the latest. */
    private Set<BackendUser> waiting = Set.of();

    /** How far the latest is. */
    BackendState state() {
        return state;
    }

    void become(BackendState next) {
        state = next;
    }

    /** What there is of a backend. */
    BackendPresence presence() {
        return switch (state) {
            case SERVING, CONNECTED -> BackendPresence.THERE;
            case EMPTY -> latest > 0 ? BackendPresence.MISSING : BackendPresence.PENDING;
            default -> BackendPresence.PENDING;
        };
    }

    /** The latest; 0 before the first. */
    int latest() {
        return latest;
    }

    /** Counts the next one, which has no connection yet. */
    int next() {
        return ++latest;
    }

    /** The next one is brought to the state of those before. */
    int restore(long now) {
        state = BackendState.RESTORING;
        served = false;
        unasked = false;
        restoringSince = now;
        return next();
    }

    /** The restore was begun for nobody: its patience is not that of those who came later. */
    void restoresForNobody() {
        unasked = true;
    }

    /** Whether the last restore was begun for nobody. */
    boolean unasked() {
        return unasked;
    }

    /** When the last restore began. */
    long restoringSince() {
        return restoringSince;
    }

    /** Whether the restore of this one is under way. */
    boolean restoring(int which) {
        return state == BackendState.RESTORING && present(which);
    }

    /** Somebody has got the latest. */
    void serve() {
        served = true;
    }

    /** Whether anybody has got the latest. */
    boolean served() {
        return served;
    }

    /** Whether this is the latest, and not gone. */
    boolean present(int which) {
        return which == latest && which != lastGone;
    }

    /** Whether another one has taken the place of this one, or is about to. */
    boolean succeeded(int which) {
        return which < latest && present(latest) && state != BackendState.CLOSED;
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
    void gone(int which, Step step) {
        lastGone = which;
        letGo(step);
    }

    /** There will be no other one. */
    void close(Step step) {
        state = BackendState.CLOSED;
        letGo(step);
    }

    private void letGo(Step step) {
        waiting.forEach(user -> step.then(user::dropped));
        waiting = Set.of();
    }

    /** Somebody waits for the latest, as long as that is there. */
    void await(BackendUser user) {
        waiting = waiting.isEmpty() ? new HashSet<>() : waiting;
        waiting.add(user);
    }

    /** It has what it waited for. */
    void awaitNoMore(BackendUser user) {
        if (!waiting.isEmpty()) {
            waiting.remove(user);
        }
    }

    /** Gives the connection away, to be closed. */
    Optional<BackendConnection> disconnect() {
        Optional<BackendConnection> last = Optional.ofNullable(connection);
        connection = null;
        return last;
    }
}
