package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.cluster.SharedSessionStore.Tail;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.StreamId;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Those on this node who read, in one session, what other nodes write: of each stream one. Safe for use by any thread. */
final class SessionTail {
    /** A writer that is said to live is looked at all the same after so many polls: it may have given up the session. */
    private static final int POLLS = 3;

    private final LiveSession session;
    private final NodeStore store;
    private final Tails tails;
    private final Writers writers;
    private final Consumer<LiveSession> read;
    private final Map<StreamId, StoreTail> readers = new ConcurrentHashMap<>();
    private @Nullable Tail tail;
    private int polls;

    /**
     * @param read learns from time to time that somebody reads the listening stream here
     */
    SessionTail(LiveSession session, NodeStore store, Tails tails, Writers writers, Consumer<LiveSession> read) {
        this.session = session;
        this.store = store;
        this.tails = tails;
        this.writers = writers;
        this.read = read;
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
                    read.accept(session);
                }
                if (looks && session.listensOnly()) {
                    lookAtCalls();
                }
            } else if (looks
                    || living.filter(nodes -> !nodes.contains(reader.writer())).isPresent()) {
                reader.look();
            }
        }
    }

    /** Nobody may have told this node that a newer connection reads, or that the session is not its any more. */
    private void lookAtToken(StoreTail reader) {
        long own = reader.token();
        StoreQuestion.ask(() ->
                        store.token(session.key(), session.replica().epoch(), reader.stream(), Part.READER, own, own))
                .thenAccept(now -> {
                    if (now != own && now != SharedSessionStore.NO_TOKEN) {
                        tails.superseded(session, reader.stream(), own);
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
