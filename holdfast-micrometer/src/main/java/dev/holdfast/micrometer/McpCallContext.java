package dev.holdfast.micrometer;

import dev.holdfast.RequestOrigin;
import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.CallFacts;
import dev.holdfast.spi.InboundMessage;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a request that is observed. Its carrier has what says to which trace the request belongs: what its {@code _meta} says,
 * else the headers of the HTTP request that carried it.
 */
public final class McpCallContext extends ReceiverContext<Map<String, String>> {
    /** How a request ended. */
    public enum Outcome {
        /** With a result. */
        OK,
        /** With a JSON-RPC error, or a tool's result that says that it failed. */
        ERROR,
        /** Its client has cancelled it. */
        CANCELLED,
        /** Its session has ended before it was answered. */
        LOST
    }

    private final ObservationRegistry registry;
    private InboundMessage request;
    /** What the request says, once somebody has asked. */
    private @Nullable CallFacts facts;

    private final String shortId;
    private final String revision;
    private volatile @Nullable Outcome outcome;
    private volatile AnswerFacts answer = AnswerFacts.done();

    McpCallContext(Session session, InboundMessage request, ObservationRegistry registry) {
        super((carrier, key) -> carrier.get(key), Kind.SERVER);
        this.registry = registry;
        this.request = request;
        this.shortId = session.shortId();
        this.revision = session.revision();
    }

    /** It is observed from now on: what is known of the request by now is kept, and not its content. */
    void begin() {
        facts();
        getCarrier();
        request = request.withoutContent();
    }

    private CallFacts facts() {
        CallFacts known = facts;
        if (known == null) {
            known = CallFacts.of(request);
            facts = known;
        }
        return known;
    }

    @Override
    public Map<String, String> getCarrier() {
        Map<String, String> known = super.getCarrier();
        if (known == null) {
            known = origin();
            setCarrier(known);
        }
        return known;
    }

    private Map<String, String> origin() {
        Map<String, String> said = facts().trace();
        if (said.containsKey("traceparent")) {
            return said;
        }
        Map<String, String> headers = new HashMap<>();
        if (registry.getCurrentObservation() == null && request.context() instanceof RequestOrigin origin) {
            CallFacts.TRACE_FIELDS.forEach(name -> origin.header(name).ifPresent(value -> headers.put(name, value)));
        }
        return headers;
    }

    /** The method. */
    public String method() {
        return request.method();
    }

    /** The JSON-RPC id; of a string what stands between its quotes. */
    public String requestId() {
        String token = request.requiredId().token();
        return token.startsWith("\"") ? token.substring(1, token.length() - 1) : token;
    }

    /** The first eight characters of the session's id: the whole id is a credential. */
    public String shortSessionId() {
        return shortId;
    }

    /** The protocol revision of the session: what client and backend have agreed on, be it one of the specification or not. */
    public String revision() {
        return revision;
    }

    /** The tool or the prompt that {@code params.name} names. */
    public Optional<String> name() {
        return facts().name();
    }

    /** The resource that {@code params.uri} names. */
    public Optional<String> uri() {
        return facts().uri();
    }

    /** How it has ended; empty as long as it has not. */
    public Optional<Outcome> outcome() {
        return Optional.ofNullable(outcome);
    }

    /** What the answer says, once there is one. */
    public AnswerFacts answer() {
        return answer;
    }

    void over(Outcome how, AnswerFacts said) {
        answer = said;
        outcome = how;
    }
}
