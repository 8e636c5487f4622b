package dev.holdfast.gateway.stdio;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The calls that a child works on. Nothing in what a child sends says to which call it belongs, but for responses and progress;
 * the rest goes by what runs. Safe for use by any thread.
 */
final class RunningCalls {
    private static final int CANCELLED_TOKENS = 256;

    private final Map<RequestId, Running> calls = new LinkedHashMap<>(4);
    private final Map<RequestId, Running> tokens = new HashMap<>(4);
    private final Map<RequestId, Boolean> cancelledTokens = new LinkedHashMap<>(0) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<RequestId, Boolean> eldest) {
            return size() > CANCELLED_TOKENS;
        }
    };

    /**
     * What has to be known of a call, and no more: its request may be large.
     *
     * @param carries whether its stream can take a message that names no call
     */
    private record Running(boolean carries, Optional<RequestId> token, CallSink sink) {}

    /**
     * A request that goes into the journal only sets something; it provokes nothing that its stream is there for, and when it
     * is replayed nobody hears that stream. Nor has {@code initialize} a stream.
     */
    private static boolean carries(InboundMessage request) {
        return request.journal() instanceof JournalChange.None
                && !request.method().equals("initialize");
    }

    synchronized void start(InboundMessage request, Optional<RequestId> token, CallSink sink) {
        Running call = new Running(carries(request), token, sink);
        calls.put(request.requiredId(), call);
        token.ifPresent(value -> tokens.put(value, call));
    }

    /** Takes the call that a response ends. */
    synchronized Optional<CallSink> end(RequestId id) {
        return Optional.ofNullable(remove(id)).map(Running::sink);
    }

    /** Forgets a call whose answer nobody waits for, and what still comes for its progress token. */
    synchronized Optional<CallSink> cancel(RequestId id) {
        Running call = remove(id);
        if (call != null) {
            call.token.ifPresent(token -> cancelledTokens.put(token, true));
        }
        return Optional.ofNullable(call).map(Running::sink);
    }

    private @Nullable Running remove(RequestId id) {
        Running call = calls.remove(id);
        if (call != null) {
            call.token.ifPresent(token -> tokens.remove(token, call));
        }
        return call;
    }

    /** Whether no call runs. */
    synchronized boolean none() {
        return calls.isEmpty();
    }

    /** The call that asked for progress under a token. */
    synchronized Optional<CallSink> ofToken(RequestId token) {
        return Optional.ofNullable(tokens.get(token)).map(Running::sink);
    }

    /** Whether a token belongs to a call that was cancelled. */
    synchronized boolean cancelled(RequestId token) {
        return cancelledTokens.containsKey(token) && !tokens.containsKey(token);
    }

    /**
     * The call on whose stream to send what names no call; empty for the listening stream. It is the only running call; of several
     * the newest, unless a client that listens gets all of the listening stream.
     */
    Optional<CallSink> unattributed(ListeningSink listening) {
        Optional<CallSink> only = only();
        return only.isPresent() || listening.followed() ? only : newest();
    }

    private synchronized Optional<CallSink> only() {
        return calls.values().stream().filter(Running::carries).count() == 1 ? newest() : Optional.empty();
    }

    /** The call that was started last of those that run. */
    private synchronized Optional<CallSink> newest() {
        return calls.values().stream()
                .filter(Running::carries)
                .reduce((older, newer) -> newer)
                .map(Running::sink);
    }
}
