package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/** This node's part of one session, as far as the store knows it. Safe for use by any thread. */
final class Membership {
    private static final int MOST_TOKENS = 64;

    /** The incarnation that has joined. */
    final String node;
    /** Whose session it is, empty for nobody. */
    final String principal;
    /** Its epochs, oldest first: a session may get a newer one and keep the streams of the older. */
    final List<Epoch> epochs;
    /** What is left on its listening stream of those who are gone. */
    final OrphanSearch orphaned = new OrphanSearch();
    /** Numbers the readers of this node. */
    private final AtomicInteger readers = new AtomicInteger();

    private final Map<StreamId, Long> tokens = new ConcurrentHashMap<>(0);

    /** The newest version of the journal that a commit has told of, or another node. */
    private final AtomicLong newest;
    /** The version that the session here has. */
    private final AtomicLong known;
    /** When the session expires, as far as this node has said. */
    private volatile long expiresAt;

    Membership(String node, Epoch epoch, long version, SessionRecord record) {
        this.node = node;
        this.principal = record.principal();
        this.epochs = new CopyOnWriteArrayList<>(List.of(epoch));
        this.newest = new AtomicLong(version);
        this.known = new AtomicLong(version);
        this.expiresAt = record.expiresAt();
    }

    /** Whether this is the counter of an epoch of this node. */
    boolean has(int counter) {
        return epochs.stream().anyMatch(epoch -> epoch.counter() == counter);
    }

    /** Whether all epochs up to the latest of the session are of this node. */
    boolean isAlone(Epoch latest) {
        return epochs.size() == latest.counter();
    }

    long expiresAt() {
        return expiresAt;
    }

    /** The token of the connection that reads the stream of a call that is written here, where it has taken one. */
    long reader(StreamId stream) {
        return tokens.getOrDefault(stream, SharedSessionStore.NO_TOKEN);
    }

    /** A connection here has taken a token for a stream that is written here. */
    void reads(StreamId stream, long token) {
        tokens.put(stream, token);
    }

    /** Forgets the tokens of streams that are not written here any more. */
    void keep(Predicate<StreamId> written) {
        if (tokens.size() > MOST_TOKENS) {
            tokens.keySet().removeIf(written.negate());
        }
    }

    /** A token that no other connection has or had: the counter of the epoch here, and a number. */
    long nextToken(Epoch epoch) {
        return (long) epoch.counter() << Integer.SIZE | Integer.toUnsignedLong(readers.incrementAndGet());
    }

    /** A commit of this node is done. */
    void committed(List<RecordChange> changes, Appended appended) {
        long before = newest.getAndAccumulate(appended.version(), Math::max);
        boolean own = changes.stream().anyMatch(Membership::ofJournal);
        if (own && appended.version() == before + 1) {
            known.compareAndSet(before, appended.version());
        }
        for (RecordChange change : changes) {
            if (change instanceof RecordChange.Expires expires) {
                expiresAt = Math.max(expiresAt, expires.at());
            }
        }
    }

    private static boolean ofJournal(RecordChange change) {
        return change instanceof RecordChange.Negotiated
                || change instanceof RecordChange.JournalPut
                || change instanceof RecordChange.JournalRemoved;
    }

    /** The newest version of the journal that is known of. */
    long newest() {
        return newest.get();
    }

    /** There is this version of the journal. */
    void heardOf(long version) {
        newest.accumulateAndGet(version, Math::max);
    }

    /** The newest version of the journal, if the session here has an older one; else -1. */
    long missing() {
        long now = newest.get();
        return now > known.get() ? now : -1;
    }

    /** The session here has this version at least. */
    void caughtUp(long version) {
        known.accumulateAndGet(version, Math::max);
    }

    /**
     * How far this node has searched a session's listening stream for events of nodes that are gone. One thread searches at a time, and
     * looks at no event twice unless another node has gone meanwhile. Safe for use by any thread.
     */
    static final class OrphanSearch {
        private final AtomicBoolean lookedFor = new AtomicBoolean();
        /** Only who looks uses these. */
        private Set<Epoch> present = Set.of();

        private long through;

        /** Begins to look; false where somebody does. */
        boolean begin() {
            return lookedFor.compareAndSet(false, true);
        }

        /** Behind which event is to be looked. */
        long from(Set<Epoch> nowPresent) {
            return nowPresent.containsAll(present) ? through : 0;
        }

        /** Nothing is left up to here of any that is not present. */
        void none(Set<Epoch> nowPresent, long upTo) {
            through = Math.max(from(nowPresent), upTo);
            present = nowPresent;
        }

        /** Looks no more. */
        void end() {
            lookedFor.set(false);
        }
    }
}
