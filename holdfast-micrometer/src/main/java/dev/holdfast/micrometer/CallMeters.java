package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.CallFacts;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * How long requests take, by their method, and those of tools by the tool, and by how they end. A client may call any tool by any name, and
 * a registry keeps each for ever: a tool has meters of its own once its server has listed it, or answered a call of it without an error, and
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

    private static final Set<Outcome> OF_METHODS = EnumSet.complementOf(EnumSet.of(Outcome.TOOL_ERROR));

    private final MeterRegistry registry;
    /** By method: there are only so many names. */
    private final Map<String, Map<Outcome, Timer>> methods = new ConcurrentHashMap<>();
    /** By tool, the others among them. */
    private final Map<String, Map<Outcome, Timer>> tools = new ConcurrentHashMap<>();

    private final Map<Outcome, Timer> otherTools;

    /** Registers those of calls of tools, so that whoever watches sees them begin at zero. */
    CallMeters(MeterRegistry registry) {
        this.registry = registry;
        this.otherTools = ofTool(Tags.OTHER);
        tools.put(Tags.OTHER, otherTools);
        methods.put(TOOLS_CALL, ofMethod(TOOLS_CALL));
    }

    private Map<Outcome, Timer> ofMethod(String method) {
        Timer.Builder timers = Timer.builder("holdfast.calls")
                .description("Requests, from when they go to their backend until their answer is committed")
                .tag("method", method)
                .serviceLevelObjectives(BUCKETS);
        return register(timers, OF_METHODS);
    }

    private Map<Outcome, Timer> ofTool(String tool) {
        Timer.Builder timers = Timer.builder("holdfast.tool.calls")
                .description("Calls of tools, from when they go to their backend until their answer is committed")
                .tag("tool", tool);
        return register(timers, EnumSet.allOf(Outcome.class));
    }

    private Map<Outcome, Timer> register(Timer.Builder timers, Set<Outcome> outcomes) {
        Map<Outcome, Timer> byOutcome = new EnumMap<>(Outcome.class);
        outcomes.forEach(outcome ->
                byOutcome.put(outcome, timers.tag("outcome", Tags.of(outcome)).register(registry)));
        return byOutcome;
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        String method = Tags.method(request.method());
        Map<Outcome, Timer> byOutcome = methods.computeIfAbsent(method, this::ofMethod);
        String tool = method.equals(TOOLS_CALL) ? tag(CallFacts.named(request).orElse(Tags.OTHER)) : "";
        return new Measured(method, tool, byOutcome, now());
    }

    /** A long name is not kept while the call runs. */
    private static String tag(String tool) {
        return tool.length() <= MOST_CHARS ? tool : Tags.OTHER;
    }

    private long now() {
        return registry.config().clock().monotonicTime();
    }

    private boolean hasRoom() {
        return tools.size() <= MOST_TOOLS;
    }

    /** There is such a tool. */
    private synchronized void known(String tool) {
        if (!tools.containsKey(tool) && hasRoom()) {
            tools.put(tool, ofTool(tool));
        }
    }

    private final class Measured implements CallWatch {
        private final String method;
        private final String tool;
        private final Map<Outcome, Timer> byOutcome;
        private final long began;

        private Measured(String method, String tool, Map<Outcome, Timer> byOutcome, long began) {
            this.method = method;
            this.tool = tool;
            this.byOutcome = byOutcome;
            this.began = began;
        }

        private void over(Outcome outcome) {
            long took = now() - began;
            record(byOutcome, outcome == Outcome.TOOL_ERROR ? Outcome.ANSWERED : outcome, took);
            if (method.equals(TOOLS_CALL)) {
                if (outcome == Outcome.ANSWERED && !tools.containsKey(tool) && hasRoom()) {
                    known(tool);
                }
                record(tools.getOrDefault(tool, otherTools), outcome, took);
            }
        }

        private static void record(Map<Outcome, Timer> timers, Outcome outcome, long nanos) {
            Objects.requireNonNull(timers.get(outcome)).record(nanos, TimeUnit.NANOSECONDS);
        }

        @Override
        public void answered(OutboundMessage answer) {
            if (answer.kind() == EventKind.ERROR) {
                over(Outcome.FAILED);
                return;
            }
            boolean failed = method.equals(TOOLS_CALL)
                    && AnswerFacts.ofToolResult(answer.bytes()).toolError();
            over(failed ? Outcome.TOOL_ERROR : Outcome.ANSWERED);
            if (method.equals(TOOLS_LIST) && hasRoom()) {
                AnswerFacts.toolNames(answer.bytes()).forEach(name -> known(tag(name)));
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
