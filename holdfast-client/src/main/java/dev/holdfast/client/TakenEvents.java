package dev.holdfast.client;

import dev.holdfast.client.wire.SseEvent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which events were taken lately on the streams of one session, so that each is taken once, whichever stream brings it first: some
 * servers replay the events of all streams to the one that is resumed. An event is known by its id and its data. Thread-safe.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery">MCP, Resumability
 *     and Redelivery</a>
 */
final class TakenEvents {
    private static final CompletionStage<Void> TAKEN = CompletableFuture.completedFuture(null);
    /** How many are remembered; older ones are taken again if they come again. */
    private static final int MOST = 1_024;

    private static final long FNV_BASIS = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;
    /** The bit of a mark that says that the event came on a connection which resumed its stream. */
    private static final long RESUMED = 1;
    /** The bits of a mark that say on which stream. */
    private static final long STREAM = 0xff << 1;

    private static final long KEY = ~(RESUMED | STREAM);

    private final Map<Long, CompletableFuture<Void>> underWay = new HashMap<>(0);
    /** Of each event a hash. The oldest stands at {@link #next} once the array is as large as it gets. */
    private long[] marks = new long[16];

    private int next;
    private volatile boolean repeats;

    /**
     * Takes an event, unless another stream has. Where neither connection resumed its stream, nothing is a repetition: some servers
     * give ids that count for one stream only, and resume none.
     *
     * @param stream a number of the stream that brings it
     * @param resumed whether it came on a connection that resumed its stream
     * @param taking takes it
     * @return completes once the event was taken, on whichever stream, so that what follows on this one is taken later
     */
    CompletionStage<Void> once(SseEvent event, int stream, boolean resumed, Supplier<CompletionStage<Void>> taking) {
        String id = event.id().orElse("");
        byte[] data = event.data();
        if (id.isEmpty() || data.length == 0) {
            return taking.get();
        }
        long key = key(id, data);
        CompletableFuture<Void> taken = new CompletableFuture<>();
        long origin = (stream << 1 & STREAM) | (resumed ? RESUMED : 0);
        CompletionStage<Void> before = claim(key, origin, taken);
        if (before != null) {
            return before;
        }
        try {
            return taking.get().whenComplete((nothing, failure) -> ended(key, taken, failure));
        } catch (RuntimeException | Error e) {
            ended(key, taken, e);
            throw e;
        }
    }

    /** Whether the server has sent what belongs to one stream on another that was resumed. */
    boolean repeats() {
        return repeats;
    }

    /** The server has done so. */
    void repeated() {
        repeats = true;
    }

    /** Ids begin again from here on. */
    synchronized void clear() {
        marks = new long[16];
        next = 0;
    }

    private synchronized @Nullable CompletionStage<Void> claim(long key, long origin, CompletableFuture<Void> taken) {
        for (long mark : marks) {
            if ((mark & KEY) == key && ((mark | origin) & RESUMED) != 0) {
                if (((mark ^ origin) & STREAM) != 0) {
                    repeats = true;
                }
                CompletionStage<Void> other = underWay.get(key);
                return other != null ? other : TAKEN;
            }
        }
        underWay.put(key, taken);
        remember(key | origin);
        return null;
    }

    private void remember(long mark) {
        if (next == marks.length && next < MOST) {
            marks = Arrays.copyOf(marks, 2 * next);
        }
        next %= marks.length;
        marks[next++] = mark;
    }

    private void ended(long key, CompletableFuture<Void> taken, @Nullable Throwable failure) {
        synchronized (this) {
            underWay.remove(key, taken);
            if (failure != null) {
                forget(key);
            }
        }
        if (failure == null) {
            taken.complete(null);
        } else {
            taken.completeExceptionally(failure);
        }
    }

    private void forget(long key) {
        for (int i = 0; i < marks.length; i++) {
            if ((marks[i] & KEY) == key) {
                marks[i] = 0;
            }
        }
    }

    private static long key(String id, byte[] data) {
        long hash = FNV_BASIS;
        for (int i = 0; i < id.length(); i++) {
            hash = (hash ^ id.charAt(i)) * FNV_PRIME;
        }
        return (hash ^ Arrays.hashCode(data)) * FNV_PRIME & KEY;
    }
}
