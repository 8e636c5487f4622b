package dev.holdfast.gateway.stdio;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The calls that a child works on, by the ids that it knows. Nothing in what a child sends says to which call it belongs, but for
 * responses and progress; the rest goes by what runs. Safe for use by any thread.
 */
final class RunningCalls {
    private final ChildIds ids = new ChildIds();
    private final Map<RequestId, Running> calls = new LinkedHashMap<>(4);
    private final Map<RequestId, Running> tokens = new HashMap<>(4);
    private final Set<RequestId> cancelledIds = recent();
    private final Set<RequestId> cancelledTokens = recent();

    /**
     * What has to be known of a call, and no more: its request may be large.
     *
     * @param id the client's id
     * @param carries whether its stream can take a message that names no call
     */
    private record Running(RequestId id, boolean carries, Optional<RequestId> token, CallSink sink) {}

    /**
     * A call that has its answer.
     *
     * @param id the client's id
     */
    record Ended(RequestId id, CallSink sink) {}

    /** A set that forgets what was added first. */
    private static Set<RequestId> recent() {
        return Collections.newSetFromMap(new LinkedHashMap<>(0) {
            private static final int MOST = 256;

            @Override
            protected boolean removeEldestEntry(Map.Entry<RequestId, Boolean> eldest) {
                return size() > MOST;
            }
        });
    }

    /**
     * A request that goes into the journal only sets something; it provokes nothing that its stream is there for, and when it
     * is replayed nobody hears that stream. Nor has {@code initialize} a stream.
     */
    private static boolean carries(InboundMessage request) {
        return request.journal() instanceof JournalChange.None
                && !request.method().equals("initialize");
    }

    /** Begins a call; returns the id for the child. */
    RequestId start(InboundMessage request, Optional<RequestId> token, CallSink sink) {
        return start(new Running(request.requiredId(), carries(request), token, sink));
    }

    /** Begins a call on whose stream nobody hears anything but the answer; returns the id for the child. */
    RequestId startMute(InboundMessage request, Optional<RequestId> token, CallSink sink) {
        return start(new Running(request.requiredId(), false, token, sink));
    }

    private synchronized RequestId start(Running call) {
        RequestId id = call.id;
        // a late answer to a call that was cancelled must not be taken for that to a later one
        while (!ChildIds.plain(id) || calls.containsKey(id) || cancelledIds.contains(id)) {
            id = ids.next();
        }
        calls.put(id, call);
        call.token.ifPresent(value -> tokens.put(value, call));
        return id;
    }

    /** Takes the call that a response ends. */
    synchronized Optional<Ended> end(RequestId id) {
        return Optional.ofNullable(remove(id)).map(call -> new Ended(call.id, call.sink));
    }

    /** Whether a response is a late one, to a call that was cancelled. */
    synchronized boolean late(RequestId id) {
        return cancelledIds.remove(id);
    }

    /**
     * Forgets a call whose answer nobody waits for, and what still comes for its progress token; false if it has ended, whoever has its
     * id by now.
     */
    synchronized boolean cancel(RequestId id, CallSink sink) {
        Running call = calls.get(id);
        if (call == null || call.sink != sink) {
            return false;
        }
        remove(id);
        cancelledIds.add(id);
        call.token.ifPresent(cancelledTokens::add);
        return true;
    }

    private @Nullable Running remove(RequestId id) {
        Running call = calls.remove(id);
        if (call != null) {
            call.token.ifPresent(token -> tokens.remove(token, call));
        }
        return call;
    }

    /** Whether the call of this sink has neither its answer nor been cancelled. */
    synchronized boolean runs(CallSink sink) {
        return calls.values().stream().anyMatch(call -> call.sink == sink);
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
        return cancelledTokens.contains(token) && !tokens.containsKey(token);
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
