package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.CallFacts;
import dev.holdfast.micrometer.McpCallContext.Outcome;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
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
        McpCallContext context = new McpCallContext(session, request, registry);
        Observation observation = Observation.createNotStarted(null, convention, () -> context, registry);
        if (observation.isNoop()) {
            return CallWatch.NONE;
        }
        context.begin();
        return new Observed(observation.start(), context);
    }

    /** One request under observation. */
    private record Observed(Observation observation, McpCallContext context) implements CallWatch {
        private static final String TOOL = "tools/call";

        /** Why an observation has failed, without a trace: nothing was thrown. */
        private static final class McpCallFailure extends RuntimeException {
            private McpCallFailure(String message) {
                super(message, null, false, false);
            }
        }

        @Override
        public Scope enter() {
            Observation.Scope scope = observation.openScope();
            return scope::close;
        }

        @Override
        public void attached(Attachment how) {
            event(Tags.of(how));
        }

        @Override
        public void detached() {
            event("detached");
        }

        private void event(String name) {
            observation.event(Observation.Event.of("stream." + name, "mcp.stream." + name));
        }

        @Override
        public void answered(OutboundMessage answer) {
            if (answer.kind() == EventKind.ERROR) {
                AnswerFacts facts = AnswerFacts.ofError(answer.bytes());
                fail(facts, facts.message().orElse("error"));
            } else if (context.method().equals(TOOL)) {
                AnswerFacts facts = AnswerFacts.ofToolResult(answer.bytes());
                if (facts.toolError()) {
                    fail(facts, "the tool has failed");
                } else {
                    stop(Outcome.OK, facts);
                }
            } else {
                stop(Outcome.OK, AnswerFacts.done());
            }
        }

        private void fail(AnswerFacts facts, String message) {
            observation.error(new McpCallFailure(message));
            stop(Outcome.ERROR, facts);
        }

        @Override
        public void cancelled() {
            stop(Outcome.CANCELLED, AnswerFacts.done());
        }

        @Override
        public void lost() {
            observation.error(new McpCallFailure("the session has ended"));
            stop(Outcome.LOST, AnswerFacts.done());
        }

        private void stop(Outcome outcome, AnswerFacts facts) {
            context.over(outcome, facts);
            observation.stop();
        }
    }
}
