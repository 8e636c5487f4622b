package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.Outcome;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Arrays;
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
    private static final int ENDED_TOKENS = 256;
    /** A longer token is not remembered. */
    private static final int LONGEST_TOKEN = 128;

    private final Map<RequestId, Call> running = new LinkedHashMap<>(4);
    private final Set<Call> ending = new HashSet<>(0);
    private final Set<Call> cancelled = new HashSet<>(0);
    private final List<Call> untouched = new ArrayList<>(0);
    private final Map<RequestId, Boolean> endedTokens = new LinkedHashMap<>(0) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<RequestId, Boolean> eldest) {
            return size() > ENDED_TOKENS;
        }
    };

    /**
     * A call.
     *
     * @param room what it takes as long as its request is kept here
     * @param token what its progress is told under, if it asked for that
     * @param harmless whether another session may run it again
     * @param unanswered what its sink gets in the place of a response that will not come
     */
    record Call(
            InboundMessage request,
            RequestRoom.Share room,
            Optional<RequestId> token,
            CallSink sink,
            boolean harmless,
            Function<Outcome, Optional<OutboundMessage>> unanswered) {
        private static final byte[] TASK = "\"task\"".getBytes(UTF_8);

        RequestId id() {
            return request.requiredId();
        }

        /** Whether it may have asked for a task, whose progress goes on behind the response. */
        private boolean mayBeTask() {
            byte[] bytes = request.bytes();
            for (int i = 0; i + TASK.length <= bytes.length; i++) {
                if (Arrays.equals(bytes, i, i + TASK.length, TASK, 0, TASK.length)) {
                    return true;
                }
            }
            return false;
        }
    }

    synchronized void start(Call call) {
        Call before = running.put(call.id(), call);
        if (before != null) {
            cancelled.remove(before);
        }
        call.token.ifPresent(endedTokens::remove);
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
        if (begins && !call.mayBeTask()) {
            call.token
                    .filter(token -> token.token().length() <= LONGEST_TOKEN)
                    .ifPresent(token -> endedTokens.put(token, true));
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

    /** The call that asked for progress under a token. */
    synchronized Optional<CallSink> ofToken(RequestId token) {
        return open().filter(call -> call.token.filter(token::equals).isPresent())
                .findFirst()
                .map(Call::sink);
    }

    /** Whether nothing comes any more under a token: its call is over, and what comes is a repetition. */
    synchronized boolean ended(RequestId token) {
        return endedTokens.containsKey(token);
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
