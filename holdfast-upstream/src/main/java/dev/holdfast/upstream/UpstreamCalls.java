package dev.holdfast.upstream;

import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.json.backend.ServerIds.Names;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** The calls of one session that an upstream works on, oldest first. Safe for use by any thread. */
final class UpstreamCalls {
    private static final int MOST_TOKENS = 256;
    /** A longer token is not remembered. */
    private static final int LONGEST_TOKEN = 128;

    private final ServerIds ids = new ServerIds();
    /** By the upstream's ids. */
    private final Map<RequestId, Call> running = new LinkedHashMap<>(4);

    private final Set<Call> ending = new HashSet<>(0);
    private final Set<Call> cancelled = new HashSet<>(0);
    private final List<Call> untouched = new ArrayList<>(0);
    /** The client's tokens of tasks, by the upstream's. */
    private final Map<RequestId, RequestId> taskTokens = recent();
    /** The upstream's tokens of calls that are over. */
    private final Set<RequestId> endedTokens = Collections.newSetFromMap(recent());

    /** A map that forgets what was added first. */
    private static <V> Map<RequestId, V> recent() {
        return new LinkedHashMap<>(0) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<RequestId, V> eldest) {
                return size() > MOST_TOKENS;
            }
        };
    }

    /**
     * A call.
     *
     * @param room what it takes as long as its request is kept here
     * @param names what the upstream knows it by
     * @param token what its progress is told under, if it asked for that
     * @param task whether it asked to be run as a task, whose progress goes on behind the response
     * @param harmless whether another session may run it again
     * @param unanswered what its sink gets in the place of a response that will not come
     */
    record Call(
            InboundMessage request,
            RequestRoom.Share room,
            Names names,
            Optional<RequestId> token,
            boolean task,
            CallSink sink,
            boolean harmless,
            Function<Outcome, Optional<OutboundMessage>> unanswered) {
        /** Whether progress is told under its token, which is that of the client. */
        boolean hasOwn(Envelope progress) {
            return token.isPresent() && token.equals(names.token()) && token.equals(progress.progressToken());
        }

        /** The upstream's id. */
        RequestId id() {
            return names.id();
        }
    }

    /**
     * Whom an upstream tells how far it is.
     *
     * @param call where to; empty for a task, whose call is over
     * @param token the client's token
     */
    record Told(Optional<CallSink> call, RequestId token) {}

    /** Begins a call, under names that no other call of the session has, and none that may come late had. */
    synchronized Call start(Envelope request, Function<Names, Call> named) {
        Names names = ids.names(request, running::containsKey, this::inUse);
        Call call = named.apply(names);
        running.put(names.id(), call);
        return call;
    }

    private boolean inUse(RequestId token) {
        return taskTokens.containsKey(token)
                || endedTokens.contains(token)
                || running.values().stream().anyMatch(call -> call.names.token().equals(Optional.of(token)));
    }

    synchronized boolean running(Call call) {
        return call.equals(running.get(call.id()));
    }

    /**
     * The call is about to end, and runs until its response or its error is sent; false if it ends otherwise. What comes for it from
     * here on comes behind that.
     */
    synchronized boolean beginsToEnd(Call call) {
        boolean begins = running(call) && ending.add(call);
        if (begins && call.names.token().isPresent()) {
            RequestId theirs = call.names.token().get();
            if (call.task) {
                taskTokens.put(theirs, call.token.orElse(theirs));
            } else if (theirs.token().length() <= LONGEST_TOKEN) {
                endedTokens.add(theirs);
            }
        }
        return begins;
    }

    /** The call is over. */
    synchronized void end(Call call) {
        ending.remove(call);
        if (!cancelled.isEmpty()) {
            cancelled.remove(call);
        }
        running.remove(call.id(), call);
    }

    /**
     * The call is over here, and may run in another session: the upstream has done nothing of it, or nothing that harms when it is done
     * again. Not one that is about to end.
     */
    synchronized void endUntouched(Call call) {
        if (!ending.contains(call) && running.remove(call.id(), call) && !cancelled.remove(call)) {
            untouched.add(call);
        } else {
            call.room.give();
        }
    }

    /** Nobody waits for the call any more. */
    synchronized void cancelled(Call call) {
        if (running(call)) {
            cancelled.add(call);
        }
        if (untouched.remove(call)) {
            call.room.give();
        }
    }

    /** Those that may run in another session, and that somebody waits for. From here on they are kept by whoever asks. */
    synchronized List<InboundMessage> untouched() {
        untouched.forEach(call -> call.room.give());
        return untouched.stream().map(Call::request).toList();
    }

    /** Those that run. */
    synchronized List<Call> all() {
        return List.copyOf(running.values());
    }

    synchronized boolean isEmpty() {
        return running.isEmpty();
    }

    /** Who has asked for progress under a token of the upstream's; empty if nobody has, or nobody wants it any more. */
    synchronized Optional<Told> ofToken(RequestId theirs) {
        Optional<Told> running = open().filter(call -> call.names.token().equals(Optional.of(theirs)))
                .findFirst()
                .map(call -> new Told(Optional.of(call.sink), call.token.orElse(theirs)));
        return running.or(
                () -> Optional.ofNullable(taskTokens.get(theirs)).map(clients -> new Told(Optional.empty(), clients)));
    }

    /** Whether a token is or was that of a call. */
    synchronized boolean knows(Optional<RequestId> token) {
        return token.filter(theirs ->
                        endedTokens.contains(theirs) || ofToken(theirs).isPresent())
                .isPresent();
    }

    /** Whether nothing comes any more under a token: its call is over, and what comes is late, or a repetition. */
    synchronized boolean ended(RequestId token) {
        return endedTokens.contains(token);
    }

    /** The call that was started last. */
    synchronized Optional<CallSink> newest() {
        return open().reduce((older, newer) -> newer).map(Call::sink);
    }

    /** Those that something may still come for. */
    private Stream<Call> open() {
        return running.values().stream().filter(call -> !ending.contains(call));
    }
}
