package dev.holdfast.gateway.upstream;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The calls of one session that an upstream works on, oldest first. Safe for use by any thread. */
final class UpstreamCalls {
    private final Map<RequestId, Call> running = new LinkedHashMap<>(4);
    private final List<InboundMessage> untouched = new ArrayList<>(0);

    /**
     * A call.
     *
     * @param token what its progress is told under, if it asked for that
     */
    record Call(InboundMessage request, Optional<RequestId> token, CallSink sink) {
        RequestId id() {
            return request.requiredId();
        }
    }

    synchronized void start(Call call) {
        running.put(call.id(), call);
    }

    /** The call is over. */
    synchronized void end(Call call) {
        running.remove(call.id(), call);
    }

    /** The call is over, and the upstream has done nothing of it. */
    synchronized void endUntouched(Call call) {
        if (running.remove(call.id(), call)) {
            untouched.add(call.request);
        }
    }

    /** Those that the upstream has done nothing of. */
    synchronized List<InboundMessage> untouched() {
        return List.copyOf(untouched);
    }

    synchronized boolean isEmpty() {
        return running.isEmpty();
    }

    /** The call that asked for progress under a token. */
    synchronized Optional<CallSink> ofToken(RequestId token) {
        return running.values().stream()
                .filter(call -> call.token.filter(token::equals).isPresent())
                .findFirst()
                .map(Call::sink);
    }

    /** The call that was started last. */
    synchronized Optional<CallSink> newest() {
        return running.values().stream().reduce((older, newer) -> newer).map(Call::sink);
    }
}
