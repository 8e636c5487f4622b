package dev.holdfast.session;

import dev.holdfast.Lifetime;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.Step;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * What of a session's record has to follow the time: when the store may forget it, how far its client has surely read, whether
 * it has ever listened, and which server its backend was.
 *
 * <p>The store forgets it never before its deadline, for the record is dated at least the longer of grace and idle ahead of the
 * wall clock, and dated anew when that has gone on or was set. That matters only where no engine lives to end the session.
 */
public final class RecordState {
    /** How much longer than its deadline a session is kept by its store, where an engine lives that ends it in time. */
    static final Duration MARGIN = Duration.ofHours(1);

    private static final long MARGIN_MILLIS = MARGIN.toMillis();
    private static final long CONFIRMATION_MILLIS = 5_000;

    private final InstantSource clock;
    private final Lifetime lifetime;
    private final int born;
    private final boolean outlasts;
    private boolean followed;
    private Introduction introduction;
    private long expiresAt;
    private long confirmed;
    private long confirmedAt;
    /** What the record has, as far as it was read or written here. */
    private Extension kept;

    /**
     * @param born the counter of the epoch in which its present life began, as the record has to name it
     * @param outlasts whether the store outlasts this process, so that it is worth to tell it what the client has read
     */
    RecordState(InstantSource clock, Seed origin, int born, boolean outlasts) {
        this.clock = clock;
        this.lifetime = origin.lifetime();
        this.born = born;
        this.outlasts = outlasts;
        this.kept = origin.extension();
        this.followed = kept.followed();
        this.introduction = kept.introduction();
        this.confirmed = kept.confirmed();
        this.confirmedAt = clock.millis();
        this.expiresAt = fresh();
    }

    private long timeoutMillis() {
        return lifetime.longestNanos() / 1_000_000;
    }

    private long fresh() {
        return clock.millis() + timeoutMillis() + MARGIN_MILLIS;
    }

    /** When the store may forget the session, in milliseconds since 1970. */
    long expiresAt() {
        return expiresAt;
    }

    void follow(Step step) {
        followed = true;
    }

    boolean followed() {
        return followed;
    }

    void introduced(Introduction said, Step step) {
        introduction = said;
    }

    Introduction introduction() {
        return introduction;
    }

    /** The record's extension as it has to be now, for the record of a session that is made. */
    byte[] extension(Step step) {
        kept = present();
        return kept.pack();
    }

    private Extension present() {
        return new Extension(lifetime, born, confirmed, followed, introduction);
    }

    /** Brings the record's extension to what it has to be. */
    RecordChange extended(Step step) {
        return new RecordChange.Extended(extension(step));
    }

    /** What begins a life that is not the session's first. */
    List<RecordChange> begun(Step step) {
        RecordChange expires = new RecordChange.Expires(expiresAt);
        // what has not changed here may be older than what another node has written
        return present().equals(kept) ? List.of(expires) : List.of(expires, extended(step));
    }

    /** What has changed so much that the store has to know. */
    List<RecordChange> due(long read, Step step) {
        long now = clock.millis();
        boolean expiry = Math.abs(fresh() - expiresAt) > MARGIN_MILLIS / 2;
        boolean progress = read > confirmed && Math.abs(now - confirmedAt) >= CONFIRMATION_MILLIS;
        boolean reading = outlasts && (progress || followed != kept.followed());
        if (!expiry && !reading) {
            return List.of();
        }
        List<RecordChange> changes = new ArrayList<>(2);
        if (expiry) {
            expiresAt = fresh();
            changes.add(new RecordChange.Expires(expiresAt));
        }
        if (reading) {
            confirmed = read;
            confirmedAt = now;
            changes.add(extended(step));
        }
        return changes;
    }

    /** Its client has surely read the listening stream up to here. */
    RecordChange read(long offset, Step step) {
        confirmed = Math.max(confirmed, offset);
        confirmedAt = clock.millis();
        return extended(step);
    }

    /**
     * What the record has to be where the session leaves memory to come back.
     *
     * @param waits how long the store keeps it from now on
     */
    List<RecordChange> parted(long read, Duration waits, Step step) {
        confirmed = read;
        expiresAt = clock.millis() + waits.toMillis();
        return begun(step);
    }

    /**
     * What the engine keeps in the extension of a session's record. Newer versions may append to its bytes.
     *
     * @param lifetime how long the session lives
     * @param born the counter of the epoch in which its present life began
     * @param confirmed up to which offset its client has surely read the listening stream
     * @param followed whether its client has ever read the listening stream; not kept by early versions
     * @param introduction which server its last backend was, and whose lists its client was promised to hear of; not kept by early
     *     versions
     */
    public record Extension(Lifetime lifetime, int born, long confirmed, boolean followed, Introduction introduction) {
        private static final byte VERSION = 1;
        private static final int DURATION = Long.BYTES + Integer.BYTES;
        private static final int INTRODUCTION = Long.BYTES + 1;
        private static final int SIZE = 1 + 5 * DURATION + Integer.BYTES + Long.BYTES;

        byte[] pack() {
            ByteBuffer packed = ByteBuffer.allocate(SIZE + 1 + INTRODUCTION).put(VERSION);
            put(packed, lifetime.grace());
            put(packed, lifetime.idle());
            put(packed, lifetime.retention());
            put(packed, lifetime.initialization());
            put(packed, lifetime.call());
            return packed.putInt(born)
                    .putLong(confirmed)
                    .put((byte) (followed ? 1 : 0))
                    .putLong(introduction.server())
                    .put(introduction.lists())
                    .array();
        }

        /** What a record has; of a version that this one cannot read the session is left to whoever can. */
        static Extension of(SessionRecord record) {
            ByteBuffer packed = ByteBuffer.wrap(record.extension());
            if (packed.remaining() < SIZE) {
                throw new IllegalArgumentException("an extension of " + packed.remaining() + " bytes");
            }
            if (packed.get() != VERSION) {
                throw new StoreUnavailableException(
                        new IllegalStateException("the session was kept by another version of this library"));
            }
            Lifetime lifetime = new Lifetime(
                    duration(packed), duration(packed), duration(packed), duration(packed), duration(packed));
            return new Extension(
                    lifetime,
                    packed.getInt(),
                    packed.getLong(),
                    packed.hasRemaining() && packed.get() != 0,
                    packed.hasRemaining() ? new Introduction(packed.getLong(), packed.get()) : Introduction.NONE);
        }

        private static void put(ByteBuffer packed, Duration duration) {
            packed.putLong(duration.getSeconds()).putInt(duration.getNano());
        }

        private static Duration duration(ByteBuffer packed) {
            return Duration.ofSeconds(packed.getLong(), packed.getInt());
        }
    }

    /**
     * What a session in memory begins with.
     *
     * @param kind what sort of record it has
     * @param extension what the engine keeps in its record
     * @param epochs those that it had, oldest first, the present one last
     * @param certainFrom the counter of the epoch since which surely nothing was lost
     */
    public record Seed(String kind, Extension extension, List<Epoch> epochs, int certainFrom) {
        /** A session that is being opened. */
        public static Seed opened(Lifetime lifetime, String kind, RandomGenerator random) {
            return new Seed(
                    kind,
                    new Extension(lifetime, 1, 0, false, Introduction.NONE),
                    List.of(new Epoch(1, random.nextInt())),
                    1);
        }

        /** A session that comes back from the store. */
        public static Seed kept(SessionStore.Claim claim) {
            return new Seed(
                    claim.record().kind(),
                    Extension.of(claim.record()),
                    Stream.concat(claim.before().stream(), Stream.of(claim.epoch()))
                            .toList(),
                    claim.certainFrom());
        }

        public Lifetime lifetime() {
            return extension.lifetime();
        }

        /** The counter of the epoch in which the present life of the session began, as its record has it. */
        public int born() {
            return extension.born();
        }

        Epoch epoch() {
            return epochs.get(epochs.size() - 1);
        }
    }
}
