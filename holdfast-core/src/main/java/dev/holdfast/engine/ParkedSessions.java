package dev.holdfast.engine;

import dev.holdfast.NodeLimits;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/**
 * The sessions that this engine has parked. For each that may be in memory, ten may be here, of all and of each principal, and
 * they may keep ten times as much: beyond, sessions stay in memory, or are evicted. Safe for use by any thread; two that come at
 * the same moment may both take the last place.
 */
final class ParkedSessions {
    private static final int FOR_EACH = 10;
    /** Of an id, so much is no credential. */
    private static final int SHORT = 8;

    /** A session that waits in the store. There may be very many, so it keeps what it is told in as few objects as it can. */
    static final class Parked {
        private final byte[] id;
        private final String principal;
        private final int counter;
        private final int nonce;
        private final long bytes;
        private final long since;
        private final long nanos;

        /**
         * Creates one.
         *
         * @param epoch the last epoch that it had here
         * @param bytes how much the store keeps of it
         * @param since when it left memory, in nanoseconds of the engine's clock
         * @param nanos how long it waits for its client from then on
         */
        Parked(String id, String principal, Epoch epoch, long bytes, long since, long nanos) {
            this.id = id.getBytes(StandardCharsets.UTF_8);
            this.principal = principal;
            this.counter = epoch.counter();
            this.nonce = epoch.nonce();
            this.bytes = bytes;
            this.since = since;
            this.nanos = nanos;
        }

        String id() {
            return new String(id, StandardCharsets.UTF_8);
        }

        String shortId() {
            return new String(id, 0, Math.min(id.length, SHORT), StandardCharsets.UTF_8);
        }

        String principal() {
            return principal;
        }

        Epoch epoch() {
            return new Epoch(counter, nonce);
        }

        long bytes() {
            return bytes;
        }

        long since() {
            return since;
        }

        long nanos() {
            return nanos;
        }

        /** It was claimed, and waits on. */
        Parked claimed(Epoch next) {
            return new Parked(id(), principal, next, bytes, since, nanos);
        }
    }

    private final NodeLimits limits;
    private final Map<SessionKey, Parked> all = new ConcurrentHashMap<>();
    private final Map<String, Integer> ofPrincipals = new ConcurrentHashMap<>();
    private final Quota bytes;
    /** Those that this node has left to a store which it shares with others: any of them may have brought them back since. */
    private final Map<SessionKey, Left> left = new ConcurrentHashMap<>();
    /** What sessions that came back here have left in that store before: this node does not trim it. */
    private final Map<SessionKey, Left> back = new ConcurrentHashMap<>();

    /** A session that counts here as long as the store keeps it for its client. */
    record Left(String principal, long bytes, long until) {}

    ParkedSessions(NodeLimits limits) {
        this.limits = limits;
        long most =
                limits.historyBytes() > Long.MAX_VALUE / FOR_EACH ? Long.MAX_VALUE : FOR_EACH * limits.historyBytes();
        this.bytes = new Quota(most - 1, limits.principalShare(), Refusal.PRINCIPAL_SHARE);
    }

    int size() {
        return all.size();
    }

    /** Whether there is room for one more. Nobody in particular has no limit of its own. */
    boolean hasRoom(String principal, long more) {
        return all.size() + left.size() < (long) FOR_EACH * limits.sessions()
                && bytes.refusal(principal, more).isEmpty()
                && (principal.isEmpty()
                        || ofPrincipals.getOrDefault(principal, 0) < (long) FOR_EACH * limits.principalSessions());
    }

    /** One has left memory for a store that is shared, and waits there until a time of the engine's clock. */
    void left(SessionKey key, Left session) {
        Left before = back.remove(key);
        long all = session.bytes + (before == null ? 0 : before.bytes);
        count(session.principal, session.bytes, 1);
        Optional.ofNullable(left.put(key, new Left(session.principal, all, session.until)))
                .ifPresent(this::forget);
    }

    /** It is in memory again: only what it has left in the store still counts. Empty if it did not count. */
    Optional<Left> back(SessionKey key) {
        Optional<Left> session = Optional.ofNullable(left.remove(key));
        session.ifPresent(was -> {
            back.put(key, was);
            count(was.principal, 0, -1);
        });
        return session;
    }

    /** It is nowhere any more. */
    void gone(SessionKey key) {
        back(key);
        Optional.ofNullable(back.remove(key)).ifPresent(was -> bytes.add(was.principal, -was.bytes));
    }

    /** The store keeps those no longer whose time is over. */
    void sweep(long now) {
        left.forEach((key, session) -> {
            if (now - session.until > 0 && left.remove(key, session)) {
                forget(session);
            }
        });
    }

    private void forget(Left session) {
        count(session.principal, -session.bytes, -1);
    }

    /** Takes one in. */
    void add(SessionKey key, Parked session) {
        entered(session);
        Optional.ofNullable(all.put(key, session)).ifPresent(this::left);
    }

    /** Takes one in again that was removed, unless it was added anew meanwhile. */
    void giveBack(SessionKey key, Parked session) {
        entered(session);
        if (all.putIfAbsent(key, session) != null) {
            left(session);
        }
    }

    /** It counts before it is here, so that whoever removes it takes away no more than was there. */
    private void entered(Parked session) {
        count(session.principal, session.bytes, 1);
    }

    /** Lets one go; empty if it is not here. */
    Optional<Parked> remove(SessionKey key) {
        Optional<Parked> session = Optional.ofNullable(all.remove(key));
        session.ifPresent(this::left);
        return session;
    }

    /** Whether this one is here still. */
    boolean has(SessionKey key, Parked session) {
        return all.get(key) == session;
    }

    private void left(Parked session) {
        count(session.principal, -session.bytes, -1);
    }

    private void count(String principal, long moreBytes, int more) {
        bytes.add(principal, moreBytes);
        if (!principal.isEmpty()) {
            ofPrincipals.merge(principal, more, (one, other) -> one + other == 0 ? null : one + other);
        }
    }

    Stream<Parked> all() {
        return all.values().stream();
    }

    void forEach(BiConsumer<SessionKey, Parked> action) {
        all.forEach(action);
    }
}
