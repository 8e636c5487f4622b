package dev.holdfast.client.held;

import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The messages of an application that have no outcome yet, within bounds: requests by their number, what has no response by its bytes.
 * So no number of calls stops their cancellations, and what the server wants to know. Thread-safe.
 */
final class UnderWay {
    /** What a message costs that has no bytes: its request, and a connection. */
    private static final int MESSAGE_BYTES = 16 << 10;
    /** For each request that may be under way, this has room for a cancellation and an answer. */
    private static final long REQUEST_BYTES = 2 * MESSAGE_BYTES;
    /** So much may be without an outcome that has no response, and one message more, however few requests may be under way. */
    private static final long LEAST_BYTES = 32 << 20;

    private final int mostRequests;
    private final long mostBytes;
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    /** Not by their ids: whoever has a response may use its id again before the outcome is told. */
    private final Set<Going> requests = ConcurrentHashMap.newKeySet();

    /** Nothing is under way. */
    UnderWay(int mostRequests) {
        this.mostRequests = mostRequests;
        this.mostBytes = Math.max(LEAST_BYTES, mostRequests * REQUEST_BYTES);
    }

    /** Makes room for a message, until {@link #free}; otherwise says what becomes of it. */
    Optional<Outcome> take(Envelope message) {
        if (message.kind() == Envelope.Kind.REQUEST) {
            if (count.incrementAndGet() > mostRequests) {
                count.decrementAndGet();
                return notTaken(mostRequests + " requests are under way");
            }
        } else if (bytes.getAndAdd(weight(message)) > mostBytes) {
            bytes.addAndGet(-weight(message));
            return notTaken("more than " + mostBytes + " bytes are under way that have no response");
        }
        return Optional.empty();
    }

    private static Optional<Outcome> notTaken(String reason) {
        return Optional.of(new Outcome.NotSent(new NotTakenException(reason)));
    }

    private static long weight(Envelope message) {
        return (long) message.bytes().length + MESSAGE_BYTES;
    }

    /** What became of the message is known. */
    void free(Envelope message) {
        if (message.kind() == Envelope.Kind.REQUEST) {
            count.decrementAndGet();
        } else {
            bytes.addAndGet(-weight(message));
        }
    }

    /** A request may be given to sessions from now on. */
    Going begin(Envelope request) {
        Going going = new Going(request);
        requests.add(going);
        return going;
    }

    /** Its outcome is known. */
    void end(Going going) {
        requests.remove(going);
    }

    /** The requests with this id; more than one only where their ids are used too soon. */
    List<Going> of(RequestId id) {
        return requests.stream()
                .filter(going -> going.request().id().equals(Optional.of(id)))
                .toList();
    }
}
