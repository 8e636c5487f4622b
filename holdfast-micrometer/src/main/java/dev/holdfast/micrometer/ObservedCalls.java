package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.RequestOrigin;
import dev.holdfast.Session;
import dev.holdfast.json.CallFacts;
import dev.holdfast.spi.InboundMessage;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Observes every request of a client, from when it goes to its backend until its answer is committed: one observation however often the
 * connection breaks meanwhile, with an event for each that carries it. Handlers find it current as long as they are on the thread
 * that hands the request over.
 *
 * <p>The parent is what {@code params._meta} names (SEP-414); without that the observation that is current on the thread, and where there
 * is none, what the headers of the HTTP request name.
 */
public final class ObservedCalls implements CallListener {
    private static final McpCallConvention DEFAULT = new McpCallConvention();
    private static final List<String> HEADERS = List.copyOf(CallFacts.TRACE_FIELDS);

    private final ObservationRegistry registry;
    private final McpCallConvention convention;

    /** Observes by the conventions of OpenTelemetry, unless the registry has another {@link McpCallConvention}. */
    public ObservedCalls(ObservationRegistry registry) {
        this(registry, DEFAULT);
    }

    /** Observes by a convention. */
    public ObservedCalls(ObservationRegistry registry, McpCallConvention convention) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.convention = Objects.requireNonNull(convention, "convention");
    }

    @Override
    public List<String> headers() {
        return HEADERS;
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        if (registry.isNoop()) {
            return CallWatch.NONE;
        }
        CallFacts facts = CallFacts.of(request.bytes());
        McpCallContext context = new McpCallContext(session, request, facts, origin(facts, request));
        Observation observation = Observation.start(null, convention, () -> context, registry);
        return observation.isNoop() ? CallWatch.NONE : new ObservedCall(observation, context);
    }

    private Map<String, String> origin(CallFacts facts, InboundMessage request) {
        if (facts.trace().containsKey("traceparent")) {
            return facts.trace();
        }
        Map<String, String> headers = new HashMap<>();
        if (registry.getCurrentObservation() == null && request.context() instanceof RequestOrigin origin) {
            HEADERS.forEach(name -> origin.header(name).ifPresent(value -> headers.put(name, value)));
        }
        return headers;
    }
}
