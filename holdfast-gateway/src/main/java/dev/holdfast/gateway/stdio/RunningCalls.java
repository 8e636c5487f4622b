package dev.holdfast.gateway.stdio;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.json.backend.ServerIds.Names;
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
    private final ServerIds ids = new ServerIds();
    private final Map<RequestId, Running> calls = new LinkedHashMap<>(4);
    private final Map<RequestId, Running> tokens = new HashMap<>(4);
    private final Set<RequestId> cancelledIds = Collections.newSetFromMap(recent());
    private final Set<RequestId> cancelledTokens = Collections.newSetFromMap(recent());
    /** The client's tokens of tasks, by the child's. */
    private final Map<RequestId, RequestId> taskTokens = recent();

    /**
     * What has to be known of a call, and no more: its request may be large.
     *
     * @param id the client's id
     * @param token the client's progress token
     * @param names what the child knows it by
     * @param carries whether its stream can take a message that names no call
     * @param task whether its progress goes on behind its response
     */
    private record Running(
            RequestId id, Optional<RequestId> token, Names names, boolean carries, boolean task, CallSink sink) {}

    /**
     * Whom a child tells how far it is.
     *
     * @param call where to; empty for a task, whose call is over
     * @param token the client's token
     */
    record Told(Optional<CallSink> call, RequestId token) {}

    /**
     * A call that has its answer.
     *
     * @param id the client's id
     */
    record Ended(RequestId id, CallSink sink) {}

    /** A map that forgets what was added first. */
    private static <V> Map<RequestId, V> recent() {
        return new LinkedHashMap<>(0) {
            private static final int MOST = 256;

            @Override
            protected boolean removeEldestEntry(Map.Entry<RequestId, V> eldest) {
                return size() > MOST;
            }
        };
    }

    /**
     * A request that goes into the journal only sets something; it provokes nothing that its stream is there for, and when it
     * is replayed nobody hears that stream. Nor has {@code initialize} a stream.
     */
    private static boolean carries(InboundMessage request) {
        return request.journal() instanceof JournalChange.None
                && !request.method().equals("initialize");
    }

    /** Begins a call. */
    Names start(InboundMessage request, Envelope message, CallSink sink) {
        return start(request, carries(request), message, sink);
    }

    /** Begins a call on whose stream nobody hears anything but the answer. */
    Names startMute(InboundMessage request, Envelope message, CallSink sink) {
        return start(request, false, message, sink);
    }

    private synchronized Names start(InboundMessage request, boolean carries, Envelope message, CallSink sink) {
        // what comes late for a call that was cancelled must not be taken for that of a later one
        Names names =
                ids.names(message, known -> calls.containsKey(known) || cancelledIds.contains(known), this::inUse);
        Running call =
                new Running(request.requiredId(), message.progressToken(), names, carries, message.asksForTask(), sink);
        calls.put(names.id(), call);
        names.token().ifPresent(token -> tokens.put(token, call));
        return names;
    }

    private boolean inUse(RequestId token) {
        return tokens.containsKey(token) || cancelledTokens.contains(token) || taskTokens.containsKey(token);
    }

    /** Takes the call that a response ends. */
    synchronized Optional<Ended> end(RequestId id) {
        Optional<Running> ended = Optional.ofNullable(remove(id));
        ended.filter(Running::task)
                .flatMap(task -> task.names.token())
                .ifPresent(theirs -> taskTokens.put(theirs, ended.get().token.orElse(theirs)));
        return ended.map(call -> new Ended(call.id, call.sink));
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
        call.names.token().ifPresent(cancelledTokens::add);
        return true;
    }

    private @Nullable Running remove(RequestId id) {
        Running call = calls.remove(id);
        if (call != null) {
            call.names.token().ifPresent(tokens::remove);
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

    /** Who has asked for progress under a token of the child's; empty if nobody has, or nobody wants it any more. */
    synchronized Optional<Told> ofToken(RequestId token) {
        Running call = tokens.get(token);
        return call == null
                ? Optional.ofNullable(taskTokens.get(token)).map(clients -> new Told(Optional.empty(), clients))
                : Optional.of(new Told(Optional.of(call.sink), call.token.orElse(token)));
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
