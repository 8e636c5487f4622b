package dev.holdfast;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The place of a session's backend, through its incarnations. Whoever needs the backend while none is there starts exactly one
 * restore, and everybody who comes meanwhile waits in order. Guarded by the session's lock; backends are called without it.
 *
 * <pre>
 *   NEW --open--> OPENING --accepted--> SERVING --nobody waits--> CONNECTED --lost--> EMPTY
 *                 OPENING --refused--> NEW
 *   NEW --the session is back from the store--> EMPTY
 *   EMPTY --use--> RESTORING --replayed--> SERVING
 *                  RESTORING --not reached, lost--> EMPTY, those who waited are refused
 *                  RESTORING --refused--> the session ends
 *   SERVING, OPENING --lost--> RESTORING if somebody waits, else EMPTY
 *   any --close--> CLOSED
 * </pre>
 */
final class BackendSlot {
    private static final Logger log = LoggerFactory.getLogger(BackendSlot.class);
    /** How long a fresh backend may take for the journal. */
    private static final long REPLAY_MILLIS = 30_000;

    private static final String UNINITIALIZED = "the session is not initialized yet";

    private enum State {
        /** There was none yet. */
        NEW,
        /** The client's own {@code initialize} is on its way. */
        OPENING,
        EMPTY,
        RESTORING,
        /** A fresh backend is there, and those who waited for it come first. */
        SERVING,
        CONNECTED,
        CLOSED
    }

    /** Somebody who needs the backend, and never throws. */
    interface User {
        /** How much it keeps while it waits. */
        long bytes();

        /** This life of the backend was chosen; under the lock. */
        void handedTo(int life);

        /** Uses it; without the lock. */
        void use(BackendConnection connection);

        /** There will be none; without the lock. */
        void refused(String cause);
    }

    private final LiveSession session;
    private final Backend backend;
    private final WaitingRoom waiting;
    private State state = State.NEW;
    private int incarnation;
    private int lastLost;
    private boolean served;
    private @Nullable BackendConnection connection;
    private Optional<LifeSink> opening = Optional.empty();

    BackendSlot(LiveSession session, Backend backend, SessionLimits limits) {
        this.session = session;
        this.backend = backend;
        this.waiting = new WaitingRoom(limits.sessionBytes(), session::hold);
    }

    /**
     * There was a backend in an earlier life of the session; under the lock, before anybody else knows the session.
     *
     * @param users those who need a fresh one, which is not opened yet
     * @return those for whom there is no room
     */
    List<User> returned(List<? extends User> users) {
        state = State.EMPTY;
        List<User> turnedAway = new ArrayList<>(0);
        for (User user : users) {
            if (!waiting.add(user)) {
                turnedAway.add(user);
            }
        }
        return turnedAway;
    }

    /** Opens a fresh backend if there was one and nobody has asked for it yet; without the lock. */
    void restore() {
        int life = session.locked(() -> state == State.EMPTY ? beginRestore() : 0);
        if (life > 0) {
            restore(life);
        }
    }

    /** Opens the first connection, for the client's own {@code initialize}; empty if there is or was one. */
    Optional<CompletionStage<Backend.Outcome>> open(InboundMessage initialize, String principal) {
        int life = session.locked(() -> {
            if (state != State.NEW) {
                return 0;
            }
            state = State.OPENING;
            return ++incarnation;
        });
        return life > 0 ? Optional.of(open(initialize, principal, life)) : Optional.empty();
    }

    private CompletionStage<Backend.Outcome> open(InboundMessage initialize, String principal, int life) {
        String name = Long.toString(session.nonce(), 36) + "." + life;
        LifeSink sink = new LifeSink(session, this, life);
        session.locked(() -> opening = Optional.of(sink));
        try {
            return backend.open(new Backend.OpenRequest(initialize, principal, name), sink)
                    .whenComplete((outcome, failure) -> sink.opened());
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** The first connection is there, even if it was lost again already. False if the slot was closed meanwhile. */
    boolean connected(BackendConnection first) {
        int life;
        int next = 0;
        boolean lost;
        session.lock();
        try {
            if (state != State.OPENING) {
                return false;
            }
            life = incarnation;
            lost = !lives(life);
            if (!lost) {
                connection = first;
                state = State.SERVING;
                served = true;
            } else if (waiting.isEmpty()) {
                state = State.EMPTY;
            } else {
                next = beginRestore();
            }
        } finally {
            session.unlock();
        }
        if (!lost) {
            serve(life, first);
            return true;
        }
        session.closing(first);
        if (next > 0) {
            restore(next);
        }
        return true;
    }

    /** The backend has refused the client's {@code initialize}; the client may try again. */
    void notOpened() {
        List<User> refused = new ArrayList<>();
        session.locked(() -> {
            if (state == State.OPENING) {
                state = State.NEW;
                lastLost = incarnation;
                session.backendLost(UNINITIALIZED);
                refused.addAll(waiting.takeAll());
            }
        });
        session.drain();
        refused.forEach(user -> user.refused(UNINITIALIZED));
    }

    /** Whether this life is the present one and not lost; under the lock. */
    boolean lives(int life) {
        return life == incarnation && life != lastLost;
    }

    /** Who takes the client's answers for this life, also while it is being opened; under the lock. */
    Optional<Consumer<InboundMessage>> answers(int life) {
        if (!lives(life)) {
            return Optional.empty();
        }
        BackendConnection now = connection;
        return now == null ? opening.flatMap(LifeSink::answers) : Optional.of(now::answer);
    }

    /** Lets somebody use the backend: now, or when it is restored; false if that cannot be. Without the lock. */
    boolean use(User user) {
        BackendConnection now = null;
        Optional<String> refused = Optional.empty();
        int life = 0;
        session.lock();
        try {
            if (state == State.CONNECTED) {
                now = connection;
                user.handedTo(incarnation);
            } else if (state == State.NEW) {
                refused = Optional.of(UNINITIALIZED);
            } else if (state == State.CLOSED || !waiting.add(user)) {
                refused = Optional.of("no backend is there");
            } else {
                life = state == State.EMPTY ? beginRestore() : 0;
            }
        } finally {
            session.unlock();
        }
        if (now != null) {
            user.use(now);
        } else if (refused.isPresent()) {
            user.refused(refused.get());
        } else if (life > 0) {
            restore(life);
        }
        return refused.isEmpty();
    }

    private int beginRestore() {
        state = State.RESTORING;
        served = false;
        return ++incarnation;
    }

    private void restore(int life) {
        open(session.locked(session.journal()::initialize), session.principal(), life)
                .whenComplete((outcome, failure) -> {
                    if (failure != null) {
                        log.error("session {}: the backend could not be opened", session.shortId(), failure);
                        putOff(life, "the backend could not be opened");
                    } else if (outcome instanceof Backend.Opened opened) {
                        opened(life, opened);
                    } else if (outcome instanceof Backend.Unreachable unreachable) {
                        putOff(life, unreachable.cause());
                    } else {
                        giveUp(life, "the backend refused the session");
                    }
                });
    }

    private void opened(int life, Backend.Opened opened) {
        boolean wanted = session.locked(() -> {
            if (state != State.RESTORING || !lives(life)) {
                return false;
            }
            connection = opened.connection();
            return true;
        });
        if (!wanted) {
            session.closing(opened.connection());
        } else if (!opened.revision().equals(session.revision())) {
            giveUp(life, "the backend now speaks revision " + opened.revision());
        } else {
            replay(life, opened);
        }
    }

    private void replay(int life, Backend.Opened fresh) {
        List<InboundMessage> messages = session.locked(() -> session.journal().replay());
        session.later(() -> mute(life), REPLAY_MILLIS);
        new Replay(session).send(messages, fresh.connection()).whenComplete((done, failure) -> {
            if (failure instanceof Error) {
                lost(life, "the backend failed");
            } else if (failure != null) {
                giveUp(life, "the backend refused what it had accepted before");
            } else {
                restored(life, fresh);
            }
        });
    }

    private void mute(int life) {
        if (session.locked(() -> state == State.RESTORING && lives(life))) {
            lost(life, "the backend does not answer what it had answered before");
        }
    }

    private void restored(int life, Backend.Opened fresh) {
        boolean wanted = session.locked(() -> {
            boolean current = state == State.RESTORING && lives(life);
            if (current) {
                state = State.SERVING;
            }
            return current;
        });
        if (wanted) {
            session.identity().again(life, fresh.response());
            serve(life, fresh.connection());
        }
    }

    /** Lets those who waited have the backend, one after the other; then all. */
    private void serve(int life, BackendConnection fresh) {
        Optional<User> next = nextUser(life);
        while (next.isPresent()) {
            next.get().use(fresh);
            next = nextUser(life);
        }
        session.makeRoom();
    }

    /** Who waits first; when nobody does, the backend is open to all. */
    private Optional<User> nextUser(int life) {
        return session.locked(() -> {
            if (state != State.SERVING || !lives(life)) {
                return Optional.empty();
            }
            Optional<User> first = waiting.takeFirst();
            if (first.isPresent()) {
                served = true;
                first.get().handedTo(life);
            } else {
                state = State.CONNECTED;
            }
            return first;
        });
    }

    /** The session cannot go on with any backend. */
    private void giveUp(int life, String cause) {
        Optional<List<User>> refused = refuseWaiting(life, cause);
        if (refused.isPresent()) {
            close();
            refused.get().forEach(user -> user.refused(cause));
            session.close(EndReason.RESTORE_FAILED);
        }
    }

    /** There is no backend for the moment: whoever comes next may try again. */
    private void putOff(int life, String cause) {
        refuseWaiting(life, cause).orElse(List.of()).forEach(user -> user.refused(cause));
    }

    /** Ends the restore of this life, if it is under way, and withdraws what it has asked; returns those who waited for it. */
    private Optional<List<User>> refuseWaiting(int life, String cause) {
        Optional<List<User>> waited = session.locked(() -> {
            if (state != State.RESTORING || life != incarnation) {
                return Optional.empty();
            }
            state = State.EMPTY;
            lastLost = life;
            session.backendLost(cause);
            return Optional.of(waiting.takeAll());
        });
        session.drain();
        return waited;
    }

    /** A backend is gone. */
    void lost(int life, String cause) {
        Optional<BackendConnection> dead;
        State before;
        int next = life;
        boolean useless;
        session.lock();
        try {
            if (!lives(life) || state == State.CLOSED) {
                return;
            }
            before = state;
            useless = before == State.RESTORING;
            lastLost = life;
            dead = Optional.ofNullable(connection);
            connection = null;
            session.backendLost(cause);
            if (before == State.SERVING && !waiting.isEmpty()) {
                useless = !served;
                next = beginRestore();
            } else if (before != State.RESTORING && before != State.OPENING) {
                state = State.EMPTY;
            }
        } finally {
            session.unlock();
        }
        session.lostBackend(cause);
        dead.ifPresent(session::closing);
        session.drain();
        if (useless) {
            putOff(next, cause);
        } else if (next > life) {
            restore(next);
        }
    }

    /** Ends the backend. */
    void close() {
        Optional<BackendConnection> last;
        Optional<LifeSink> unfinished;
        session.lock();
        try {
            state = State.CLOSED;
            waiting.takeAll();
            last = Optional.ofNullable(connection);
            connection = null;
            unfinished = opening;
            opening = Optional.empty();
        } finally {
            session.unlock();
        }
        unfinished.ifPresent(LifeSink::abandon);
        last.ifPresent(session::closing);
    }
}
