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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** The calls of one session that an upstream works on, oldest first; each ends once. Safe for use by any thread. */
final class UpstreamCalls {
    private static final int MOST_TOKENS = 256;
    /** A longer token is not remembered. */
    private static final int LONGEST_TOKEN = 128;

    private final ServerIds ids = new ServerIds();
    /** By the upstream's ids. */
    private final Map<RequestId, Call> running = new LinkedHashMap<>(4);
    /** Those of them that have asked for progress, by the upstream's tokens. */
    private final Map<RequestId, Call> byToken = new HashMap<>(4);
    /** Those that may run in another session. */
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

    /** A call, as its client has sent it. */
    static final class Call {
        final InboundMessage request;
        final CallSink sink;
        /** What it takes as long as its request is kept here. */
        final RequestRoom.Share room;
        /** Whether another session may run it again. */
        final boolean harmless;
        /** What its sink gets in the place of a response that will not come. */
        final Function<Outcome, Optional<OutboundMessage>> unanswered;
        /** What the upstream knows it by. */
        final Names names;

        private final Optional<RequestId> token;
        private final boolean task;
        private boolean ending;
        private boolean cancelled;

        private Call(
                InboundMessage request,
                Envelope message,
                CallSink sink,
                RequestRoom.Share room,
                boolean harmless,
                Function<Outcome, Optional<OutboundMessage>> unanswered,
                Names names) {
            this.request = request;
            this.sink = sink;
            this.room = room;
            this.harmless = harmless;
            this.unanswered = unanswered;
            this.names = names;
            this.token = message.progressToken();
            this.task = message.asksForTask();
        }

        /** A request under the upstream's names as the client would have sent it. */
        Envelope asClients(Envelope other) {
            Envelope named = other.withId(request.requiredId());
            return token.map(named::withProgressToken).orElse(named);
        }

        /** Whether progress is told under its token, which is that of the client. */
        boolean hasOwn(Envelope progress) {
            return token.isPresent() && token.equals(names.token()) && token.equals(progress.progressToken());
        }
    }

    /**
     * Whom an upstream tells how far it is.
     *
     * @param call where to; empty for a task, whose call is over
     * @param token the client's token
     */
    record Told(Optional<CallSink> call, RequestId token) {}

    /**
     * Begins a call, under names that no other call of the session has, and none that may come late had.
     *
     * @param room what its request takes
     * @param harmless whether another session may run it again
     * @param unanswered what its sink gets in the place of a response that will not come
     */
    synchronized Call start(
            InboundMessage request,
            Envelope message,
            CallSink sink,
            RequestRoom.Share room,
            boolean harmless,
            Function<Outcome, Optional<OutboundMessage>> unanswered) {
        Names names = ids.names(message, running::containsKey, this::inUse);
        Call call = new Call(request, message, sink, room, harmless, unanswered, names);
        running.put(names.id(), call);
        names.token().ifPresent(token -> byToken.put(token, call));
        return call;
    }

    private boolean inUse(RequestId token) {
        return byToken.containsKey(token) || taskTokens.containsKey(token) || endedTokens.contains(token);
    }

    synchronized boolean running(Call call) {
        return running.get(call.names.id()) == call;
    }

    /**
     * The call is about to end, and runs until its response or its error is sent; false if it ends otherwise. What comes for it from
     * now on is late.
     */
    synchronized boolean beginsToEnd(Call call) {
        if (call.ending || !running(call)) {
            return false;
        }
        call.ending = true;
        call.names.token().ifPresent(theirs -> {
            if (call.task) {
                taskTokens.put(theirs, call.token.orElse(theirs));
            } else if (theirs.token().length() <= LONGEST_TOKEN) {
                endedTokens.add(theirs);
            }
        });
        return true;
    }

    /** The call is over; false if it was before. */
    synchronized boolean end(Call call) {
        boolean ends = running.remove(call.names.id(), call);
        if (ends) {
            call.names.token().ifPresent(byToken::remove);
        }
        return ends;
    }

    /**
     * The call is over here, and may run in another session: the upstream has done nothing of it, or nothing that harms when it is done
     * again. Not one that is about to end, or that nobody waits for.
     */
    synchronized void endUntouched(Call call) {
        if (!call.ending && end(call) && !call.cancelled) {
            untouched.add(call);
        } else {
            call.room.give();
        }
    }

    /** Nobody waits for the call any more. */
    synchronized void cancelled(Call call) {
        call.cancelled = true;
        if (untouched.remove(call)) {
            call.room.give();
        }
    }

    /**
     * Those that may run in another session, and that somebody waits for. The caller keeps them from now on. All are named each time: of
     * two reports of one loss either may be heard first, and what is told again changes nothing.
     */
    synchronized List<InboundMessage> untouched() {
        untouched.forEach(call -> call.room.give());
        return untouched.stream().map(call -> call.request).toList();
    }

    /** The one that runs under an id of the upstream's. */
    synchronized Optional<Call> find(RequestId theirs) {
        return Optional.ofNullable(running.get(theirs));
    }

    /** Those that run. */
    synchronized List<Call> all() {
        return List.copyOf(running.values());
    }

    /** Whether the call of this sink runs. */
    synchronized boolean runs(CallSink sink) {
        return running.values().stream().anyMatch(call -> call.sink == sink);
    }

    synchronized boolean isEmpty() {
        return running.isEmpty();
    }

    /** Who has asked for progress under a token of the upstream's; empty if nobody has, or nobody wants it any more. */
    synchronized Optional<Told> ofToken(RequestId theirs) {
        Call call = byToken.get(theirs);
        return call == null || call.ending
                ? Optional.ofNullable(taskTokens.get(theirs)).map(clients -> new Told(Optional.empty(), clients))
                : Optional.of(new Told(Optional.of(call.sink), call.token.orElse(theirs)));
    }

    /** Whether a token is or was that of a call. */
    synchronized boolean knows(RequestId token) {
        return ended(token) || ofToken(token).isPresent();
    }

    /** Whether nothing comes any more under a token: its call is over, and what comes is late, or a repetition. */
    synchronized boolean ended(RequestId token) {
        return endedTokens.contains(token);
    }

    /** The call that was started last of those that something may still come for. */
    synchronized Optional<CallSink> newest() {
        return running.values().stream()
                .filter(call -> !call.ending)
                .reduce((older, newer) -> newer)
                .map(call -> call.sink);
    }
}
