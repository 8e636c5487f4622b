package dev.holdfast.log;

import dev.holdfast.Lifetime;
import dev.holdfast.SessionLimits;
import java.util.Optional;

/**
 * The complete streams of a session that may be forgotten: those whose client has everything as far as we know, of which only so
 * many and so much are kept, and those of an earlier life, of which nobody knows. Used inside a step.
 */
final class FinishedStreams {
    /** What was delivered, and is kept for a client that was asleep, has this part of what the session may keep. */
    private static final int SHARE = 8;

    private final SessionLimits limits;
    private final Lifetime lifetime;
    private final EngineClock clock;
    private final LazyQueue<Pending> delivered = new LazyQueue<>();
    private final LazyQueue<Pending> doubtful = new LazyQueue<>();

    /** At least what the delivered ones have: what they lose meanwhile is counted when it matters. */
    private long deliveredBytes;

    private record Pending(LiveStream stream, long at) {}

    /**
     * @param limits how many are kept that were delivered, and how much; these for the lifetime's retention at most, the others for
     *     its grace period if that is longer
     */
    FinishedStreams(SessionLimits limits, Lifetime lifetime, EngineClock clock) {
        this.limits = limits;
        this.lifetime = lifetime;
        this.clock = clock;
    }

    void delivered(LiveStream stream, long at) {
        delivered.addLast(new Pending(stream, at));
        deliveredBytes += stream.bytes();
    }

    void doubtful(LiveStream stream, long at) {
        doubtful.addLast(new Pending(stream, at));
    }

    void remove(LiveStream stream) {
        Optional<Pending> removed = remove(delivered, stream);
        if (removed.isPresent()) {
            deliveredBytes -= stream.bytes();
        } else {
            remove(doubtful, stream);
        }
    }

    /** Takes a stream away, which mostly is the first. */
    private static Optional<Pending> remove(LazyQueue<Pending> queue, LiveStream stream) {
        Optional<Pending> first = queue.first().filter(entry -> entry.stream == stream);
        if (first.isPresent()) {
            return queue.takeFirst();
        }
        Optional<Pending> found =
                queue.stream().filter(entry -> entry.stream == stream).findFirst();
        found.ifPresent(queue::remove);
        return found;
    }

    /** A delivered stream that is one too many; the newest is none for its size. */
    Optional<LiveStream> surplus() {
        long mostBytes = limits.sessionBytes() / SHARE;
        if (deliveredBytes > mostBytes) {
            deliveredBytes =
                    delivered.stream().mapToLong(entry -> entry.stream.bytes()).sum();
        }
        boolean tooMuch = deliveredBytes > mostBytes && delivered.size() > 1;
        return tooMuch || delivered.size() > limits.finishedStreams()
                ? delivered.first().map(Pending::stream)
                : Optional.empty();
    }

    /** A stream that was kept for long enough. */
    Optional<LiveStream> old(long now) {
        long retention = lifetime.retentionNanos();
        return old(delivered, retention, now).or(() -> old(doubtful, Math.max(retention, lifetime.graceNanos()), now));
    }

    private Optional<LiveStream> old(LazyQueue<Pending> queue, long nanos, long now) {
        return queue.first().filter(entry -> clock.passed(nanos, entry.at, now)).map(Pending::stream);
    }
}
