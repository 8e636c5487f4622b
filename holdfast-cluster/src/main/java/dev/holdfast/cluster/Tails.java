package dev.holdfast.cluster;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.log.SessionLog;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The sessions of this node in which somebody reads what other nodes write. Safe for use by any thread. */
final class Tails {
    private final NodeStore store;
    private final Writers writers;
    private final Consumer<LiveSession> read;
    private final Turns turns = new Turns();
    private final Map<SessionKey, SessionTail> all = new ConcurrentHashMap<>();

    /**
     * @param read learns from time to time that somebody reads a session's listening stream here
     */
    Tails(NodeStore store, Writers writers, Consumer<LiveSession> read) {
        this.store = store;
        this.writers = writers;
        this.read = read;
    }

    boolean any() {
        return !all.isEmpty();
    }

    /** Does what changes who reads a stream, when all that came before it for that is over. */
    <T> CompletionStage<T> alone(LiveSession session, StreamId stream, Supplier<CompletionStage<T>> turn) {
        return turns.take(session, stream, turn);
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
            SessionTail tail =
                    found != null && !ofAnEarlierLife ? found : new SessionTail(session, store, this, writers, read);
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
            session.replica().supersede(stream);
        }
    }
}
