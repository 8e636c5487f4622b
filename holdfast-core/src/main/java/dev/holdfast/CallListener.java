package dev.holdfast;

import dev.holdfast.spi.InboundMessage;
import java.util.List;

/**
 * Hears of every request of a client that goes to a backend, one by one where they came in a batch; not of the {@code initialize} by
 * which {@code SessionEngine.open} opens a session. Over HTTP+SSE {@code initialize} is a request like others here, but {@link
 * CallWatch#enter} is not called for it. Called without a lock, on the thread that hands the request over; it must not block. What it
 * throws is logged, and the request goes on without it.
 */
@FunctionalInterface
public interface CallListener {
    /** Hears nothing, and costs nothing. */
    CallListener NONE = (session, request) -> CallWatch.NONE;

    /**
     * A request is about to go to its backend, or to wait for it. One that is run again after a restart begins anew.
     *
     * @param session the session; not to be kept
     * @param request the request, with what the edge has attached to it as its context
     * @return who follows it until it is over; {@link CallWatch#NONE} for nobody
     */
    CallWatch started(Session session, InboundMessage request);

    /**
     * The HTTP headers that it wants to see: an edge that knows this listener makes the context of each request a {@link
     * RequestOrigin} that has them. Asked once. Default none.
     */
    default List<String> headers() {
        return List.of();
    }

    /** Tells several listeners, in order, each whatever the others throw. */
    static CallListener all(List<CallListener> listeners) {
        List<CallListener> hearing =
                listeners.stream().filter(each -> each != NONE).toList();
        return switch (hearing.size()) {
            case 0 -> NONE;
            case 1 -> hearing.get(0);
            default -> new CallListeners(hearing);
        };
    }
}
