package dev.holdfast.log;

import dev.holdfast.Lifetime;
import java.util.Optional;

/**
 * The complete streams of a session that may be forgotten: those whose client has everything as far as we know, of which only so
 * many are kept, and those of an earlier life, of which nobody knows. Used inside a step.
 */
final class FinishedStreams {
    private final int most;
    private final long retentionNanos;
    private final long patienceNanos;
    private final EngineClock clock;
    private final LazyQueue<Pending> delivered = new LazyQueue<>();
    private final LazyQueue<Pending> doubtful = new LazyQueue<>();

    private record Pending(LiveStream stream, long at) {}

    /**
     * @param most how many are kept that were delivered; these for the lifetime's retention at most, the others for its grace
     *     period if that is longer
     */
    FinishedStreams(int most, Lifetime lifetime, EngineClock clock) {
        this.most = most;
        this.retentionNanos = lifetime.retentionNanos();
        this.patienceNanos = Math.max(lifetime.retentionNanos(), lifetime.graceNanos());
        this.clock = clock;
    }

    void delivered(LiveStream stream, long at) {
        delivered.addLast(new Pending(stream, at));
    }

    void doubtful(LiveStream stream, long at) {
        doubtful.addLast(new Pending(stream, at));
    }

    void remove(LiveStream stream) {
        if (!startsWith(delivered, stream) && !startsWith(doubtful, stream)) {
            delivered.removeIf(entry -> entry.stream == stream);
            doubtful.removeIf(entry -> entry.stream == stream);
        }
    }

    /** Takes a stream away that is first. */
    private static boolean startsWith(LazyQueue<Pending> queue, LiveStream stream) {
        boolean first = queue.first().filter(entry -> entry.stream == stream).isPresent();
        if (first) {
            queue.takeFirst();
        }
        return first;
    }

    /** A delivered stream that is one too many. */
    Optional<LiveStream> surplus() {
        return delivered.size() > most ? delivered.first().map(Pending::stream) : Optional.empty();
    }

    /** A stream that was kept for long enough. */
    Optional<LiveStream> old(long now) {
        return old(delivered, retentionNanos, now).or(() -> old(doubtful, patienceNanos, now));
    }

    private Optional<LiveStream> old(LazyQueue<Pending> queue, long nanos, long now) {
        return queue.first().filter(entry -> clock.passed(nanos, entry.at, now)).map(Pending::stream);
    }
}
