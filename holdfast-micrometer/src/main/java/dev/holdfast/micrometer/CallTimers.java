package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.json.CallFacts;
import dev.holdfast.micrometer.ToolTimers.Outcome;
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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** How long requests take, by their method, and those of tools by the tool, and by how they end. */
final class CallTimers implements CallListener {
    /** What is there from the start, so that whoever watches sees it begin at zero. */
    private static final String TOOLS_CALL = "tools/call";

    private static final String TOOLS_LIST = "tools/list";

    private final MeterRegistry registry;
    /** By method: there are only so many names. */
    private final Map<String, Map<Outcome, Timer>> timers = new ConcurrentHashMap<>();

    private final ToolTimers tools;

    CallTimers(MeterRegistry registry) {
        this.registry = registry;
        this.tools = new ToolTimers(registry);
        timers.put(TOOLS_CALL, register(TOOLS_CALL));
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        String method = Methods.tag(request.method());
        Map<Outcome, Timer> byOutcome = timers.computeIfAbsent(method, this::register);
        long began = registry.config().clock().monotonicTime();
        String tool = method.equals(TOOLS_CALL) ? ToolTimers.tag(CallFacts.named(request.bytes())) : "";
        return new Measured(method, tool, byOutcome, began);
    }

    private Map<Outcome, Timer> register(String method) {
        Map<Outcome, Timer> byOutcome = new EnumMap<>(Outcome.class);
        for (Outcome outcome : EnumSet.complementOf(EnumSet.of(Outcome.TOOL_ERROR))) {
            byOutcome.put(
                    outcome,
                    Timer.builder("holdfast.calls")
                            .description("Requests, from when they go to their backend until their answer is committed")
                            .tag("method", method)
                            .tag("outcome", Tags.of(outcome))
                            .serviceLevelObjectives(
                                    Duration.ofMillis(1),
                                    Duration.ofMillis(5),
                                    Duration.ofMillis(25),
                                    Duration.ofMillis(100),
                                    Duration.ofMillis(500),
                                    Duration.ofMillis(2_500),
                                    Duration.ofSeconds(10),
                                    Duration.ofMinutes(1),
                                    Duration.ofMinutes(10))
                            .register(registry));
        }
        return byOutcome;
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
            long took = registry.config().clock().monotonicTime() - began;
            Outcome ofCall = outcome == Outcome.TOOL_ERROR ? Outcome.ANSWERED : outcome;
            Objects.requireNonNull(byOutcome.get(ofCall)).record(took, TimeUnit.NANOSECONDS);
            if (method.equals(TOOLS_CALL)) {
                tools.over(tool, outcome, took);
            }
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
            if (method.equals(TOOLS_LIST)) {
                tools.listed(answer.bytes());
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
