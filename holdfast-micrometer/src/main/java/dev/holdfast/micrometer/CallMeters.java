package dev.holdfast.micrometer;

import static java.util.Objects.requireNonNull;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.CallFacts;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * Measures how long requests take, by method and outcome, and calls of tools by tool. A client may call any tool by any name, and a
 * registry keeps each for ever: a tool has meters of its own once its server has listed it, or answered a call of it without an error, and
 * so many tools at most; the others share theirs.
 */
final class CallMeters implements CallListener {
    private static final String TOOLS_CALL = "tools/call";
    private static final String TOOLS_LIST = "tools/list";
    private static final int MOST_TOOLS = 100;
    /** The specification's limit for a tool's name. */
    private static final int MOST_CHARS = 128;

    private static final Duration[] BUCKETS = {
        Duration.ofMillis(1),
        Duration.ofMillis(5),
        Duration.ofMillis(25),
        Duration.ofMillis(100),
        Duration.ofMillis(500),
        Duration.ofMillis(2_500),
        Duration.ofSeconds(10),
        Duration.ofMinutes(1),
        Duration.ofMinutes(10)
    };

    /** How a request ends. */
    private enum Outcome {
        ANSWERED,
        /** With a result by which the tool says that it has failed; as a request, it was answered. */
        TOOL_ERROR,
        FAILED,
        CANCELLED,
        LOST
    }

    private final MeterRegistry registry;
    private final Clock clock;
    /** By method, then by outcome; there are only so many methods. */
    private final Map<String, Map<Outcome, Timer>> methods = new ConcurrentHashMap<>();
    /** By tool, then by outcome; {@link Tags#OTHER} is one of them. */
    private final Map<String, Map<Outcome, Timer>> tools = new ConcurrentHashMap<>();

    private final Map<Outcome, Timer> otherTools;

    /** Registers the timers of tool calls at once, so that they are seen to begin at zero. */
    CallMeters(MeterRegistry registry) {
        this.registry = registry;
        this.clock = registry.config().clock();
        this.otherTools = ofTool(Tags.OTHER);
        tools.put(Tags.OTHER, otherTools);
        methods.put(TOOLS_CALL, ofMethod(TOOLS_CALL));
    }

    private Map<Outcome, Timer> ofMethod(String method) {
        return register(
                Timer.builder("holdfast.calls")
                        .description("Requests, from when they go to their backend until their answer is committed")
                        .tag("method", method)
                        .serviceLevelObjectives(BUCKETS),
                outcome -> outcome == Outcome.TOOL_ERROR ? Outcome.ANSWERED : outcome);
    }

    private Map<Outcome, Timer> ofTool(String tool) {
        return register(
                Timer.builder("holdfast.tool.calls")
                        .description(
                                "Calls of tools, from when they go to their backend until their answer is committed")
                        .tag("tool", tool),
                outcome -> outcome);
    }

    private Map<Outcome, Timer> register(Timer.Builder timer, UnaryOperator<Outcome> counted) {
        Map<Outcome, Timer> byOutcome = new EnumMap<>(Outcome.class);
        for (Outcome outcome : Outcome.values()) {
            byOutcome.put(
                    outcome,
                    timer.tag("outcome", Tags.of(counted.apply(outcome))).register(registry));
        }
        return byOutcome;
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        String method = Tags.method(request.method());
        String tool = method.equals(TOOLS_CALL) ? CallFacts.named(request).orElse(Tags.OTHER) : Tags.OTHER;
        // a long name is not kept while the call runs
        return new Measured(
                method,
                tool.length() <= MOST_CHARS ? tool : Tags.OTHER,
                methods.computeIfAbsent(method, this::ofMethod),
                clock.monotonicTime());
    }

    /** There is such a tool: it gets meters of its own, as long as there is room. */
    private synchronized void known(String tool) {
        if (tool.length() <= MOST_CHARS && tools.size() <= MOST_TOOLS) {
            tools.computeIfAbsent(tool, this::ofTool);
        }
    }

    private final class Measured implements CallWatch {
        private final String method;
        private final String tool;
        private final Map<Outcome, Timer> timers;
        private final long began;

        private Measured(String method, String tool, Map<Outcome, Timer> timers, long began) {
            this.method = method;
            this.tool = tool;
            this.timers = timers;
            this.began = began;
        }

        private void over(Outcome outcome) {
            long took = clock.monotonicTime() - began;
            requireNonNull(timers.get(outcome)).record(took, TimeUnit.NANOSECONDS);
            if (method.equals(TOOLS_CALL)) {
                if (outcome == Outcome.ANSWERED && !tools.containsKey(tool) && tools.size() <= MOST_TOOLS) {
                    known(tool);
                }
                requireNonNull(tools.getOrDefault(tool, otherTools).get(outcome))
                        .record(took, TimeUnit.NANOSECONDS);
            }
        }

        @Override
        public void answered(OutboundMessage answer) {
            if (answer.kind() == EventKind.ERROR) {
                over(Outcome.FAILED);
            } else if (method.equals(TOOLS_CALL)) {
                boolean failed = AnswerFacts.ofToolResult(answer.bytes()).toolError();
                over(failed ? Outcome.TOOL_ERROR : Outcome.ANSWERED);
            } else {
                over(Outcome.ANSWERED);
                if (method.equals(TOOLS_LIST) && tools.size() <= MOST_TOOLS) {
                    AnswerFacts.toolNames(answer.bytes()).forEach(CallMeters.this::known);
                }
            }
        }

        @Override
        public void cancelled() {
            over(Outcome.CANCELLED);
        }

        @Override
        public void lost() {
            over(Outcome.LOST);
        }
    }
}
