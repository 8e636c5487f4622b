package dev.holdfast.cluster;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.cluster.SharedSessionStore.Tail;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The sessions of this node in which somebody reads what other nodes write. Safe for use by any thread. */
final class Tails {
    /** A writer that is said to live is looked at all the same after so many polls: it may have given up the session. */
    private static final int POLLS = 3;

    private final ClusterWriter store;
    private final StreamWriters writers;
    private final Placement placement;
    /** Of each stream whose reader changes, the end of the last change that was begun. */
    private final Map<Change, CompletableFuture<Void>> changes = new ConcurrentHashMap<>();

    private final Map<SessionKey, SessionTail> all = new ConcurrentHashMap<>();

    private record Change(LiveSession session, StreamId stream) {}

    /**
     * @param placement where the backend of a session is: from time to time it learns that the session is read here
     */
    Tails(ClusterWriter store, StreamWriters writers, Placement placement) {
        this.store = store;
        this.writers = writers;
        this.placement = placement;
    }

    boolean any() {
        return !all.isEmpty();
    }

    /**
     * Does what changes the reader of a stream on this node when all that came before it for that is over, whatever became of it: whoever
     * takes a stream over has begun to read it before anybody else takes it here, or is ended by another node.
     */
    <T> CompletionStage<T> alone(LiveSession session, StreamId stream, Supplier<CompletionStage<T>> turn) {
        Change change = new Change(session, stream);
        CompletableFuture<Void> over = new CompletableFuture<>();
        CompletableFuture<Void> before = changes.put(change, over);
        return (before == null ? SessionLog.DONE : before)
                .thenCompose(now -> turn.get())
                .whenComplete((value, failure) -> {
                    changes.remove(change, over);
                    over.complete(null);
                });
    }

    /** Lets somebody read, in the place of the one before, who ends; false if the session is at its end. */
    boolean begin(LiveSession session, StoreTail reader, Attachment how) {
        if (!reader.enter(how)) {
            return false;
        }
        AtomicReference<@Nullable StoreTail> older = new AtomicReference<>();
        all.compute(session.key(), (key, found) -> {
            boolean ofAnEarlierLife = found != null && !found.of(session);
            if (ofAnEarlierLife) {
                found.close();
            }
            SessionTail tail = found != null && !ofAnEarlierLife ? found : new SessionTail(session);
            older.setPlain(tail.add(reader));
            tail.settle();
            return tail;
        });
        StoreTail before = older.getPlain();
        if (before != null) {
            before.supersede();
        }
        return true;
    }

    /** Somebody reads no more; false if they did not. */
    boolean remove(LiveSession session, StoreTail reader) {
        AtomicBoolean was = new AtomicBoolean();
        all.computeIfPresent(session.key(), (key, tail) -> {
            was.setPlain(tail.remove(reader));
            return tail.settle() ? tail : null;
        });
        return was.getPlain();
    }

    /** Something was committed to a session. */
    void hint(SessionKey key) {
        SessionTail tail = all.get(key);
        if (tail != null) {
            tail.hint();
        }
    }

    /**
     * Reads without a hint.
     *
     * @param living the nodes that live, if that is known
     */
    void poll(Optional<Set<String>> living) {
        all.values().forEach(tail -> tail.poll(living));
    }

    /** Another connection reads a stream; the one of this token ends here, when it has begun. */
    void superseded(LiveSession session, StreamId stream, long token) {
        alone(session, stream, () -> {
            end(session, stream, token);
            return SessionLog.DONE;
        });
    }

    private void end(LiveSession session, StreamId stream, long token) {
        SessionTail tail = all.get(session.key());
        Optional<StoreTail> reader =
                tail == null ? Optional.empty() : tail.reader(stream).filter(found -> found.token() == token);
        if (reader.isPresent() && remove(session, reader.get())) {
            reader.get().supersede();
        } else if (store.membership(session.key())
                .filter(own -> own.reader(stream) == token)
                .isPresent()) {
            session.readers().supersede(stream);
        }
    }

    /** Those on this node who read, in one session, what other nodes write: of each stream one. */
    private final class SessionTail {
        private final LiveSession session;
        private final Map<StreamId, StoreTail> readers = new ConcurrentHashMap<>();
        private @Nullable Tail tail;
        private int polls;

        private SessionTail(LiveSession session) {
            this.session = session;
        }

        /** Whether it is of this life of the session. */
        boolean of(LiveSession life) {
            return session == life;
        }

        /** Takes a reader in; returns the one in whose place it is. */
        @Nullable StoreTail add(StoreTail reader) {
            return readers.put(reader.stream(), reader);
        }

        boolean remove(StoreTail reader) {
            return readers.remove(reader.stream(), reader);
        }

        Optional<StoreTail> reader(StreamId stream) {
            return Optional.ofNullable(readers.get(stream));
        }

        /** Listens for hints while somebody reads; false if nobody does. One thread at a time. */
        boolean settle() {
            if (readers.isEmpty()) {
                close();
            } else if (tail == null) {
                tail = store.tail(session.key(), this::hint);
            }
            return !readers.isEmpty();
        }

        /** Listens no more, whoever reads. One thread at a time. */
        void close() {
            Tail now = tail;
            if (now != null) {
                now.close();
                tail = null;
            }
        }

        void hint() {
            readers.values().forEach(StoreTail::hint);
        }

        /** Reads without a hint, and looks whether the writers live. One thread at a time. */
        void poll(Optional<Set<String>> living) {
            polls++;
            hint();
            boolean looks = polls % POLLS == 0;
            for (StoreTail reader : readers.values()) {
                if (looks) {
                    lookAtToken(reader);
                }
                if (reader.listening()) {
                    if (looks) {
                        placement.read(session);
                    }
                    if (looks && session.listensOnly()) {
                        lookAtCalls();
                    }
                } else if (looks
                        || living.filter(nodes -> !nodes.contains(reader.writer()))
                                .isPresent()) {
                    reader.look();
                }
            }
        }

        /** Nobody may have told this node that a newer connection reads, or that the session is not its any more. */
        private void lookAtToken(StoreTail reader) {
            long own = reader.token();
            StoreQuestion.ask(() -> store.token(session.key(), session.epoch(), reader.stream(), Part.READER, own, own))
                    .thenAccept(now -> {
                        if (now != own && now != SharedSessionStore.NO_TOKEN) {
                            superseded(session, reader.stream(), own);
                        }
                    });
        }

        /** The answers to all calls go to the listening stream: those of a dead node are missed there. */
        private void lookAtCalls() {
            store.look(session.key())
                    .thenAccept(look -> look.ifPresent(
                            found -> found.record().running().keySet().forEach(call -> writers.of(session, call, 0))));
        }
    }
}
