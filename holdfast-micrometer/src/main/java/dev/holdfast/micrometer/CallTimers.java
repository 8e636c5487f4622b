package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Session;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** How long requests take, by their method and by how they end. */
final class CallTimers implements CallListener {
    private enum Outcome {
        ANSWERED,
        FAILED,
        CANCELLED,
        LOST
    }

    /** What is there from the start, so that whoever watches sees it begin at zero. */
    private static final String FIRST = "tools/call";

    private final MeterRegistry registry;
    /** By method: there are only so many names. */
    private final Map<String, Map<Outcome, Timer>> timers = new ConcurrentHashMap<>();

    CallTimers(MeterRegistry registry) {
        this.registry = registry;
        timers.put(FIRST, register(FIRST));
    }

    @Override
    public CallWatch started(Session session, InboundMessage request) {
        String method = Methods.tag(request.method());
        return new Measured(
                timers.computeIfAbsent(method, this::register),
                registry.config().clock().monotonicTime());
    }

    private Map<Outcome, Timer> register(String method) {
        Map<Outcome, Timer> byOutcome = new EnumMap<>(Outcome.class);
        for (Outcome outcome : Outcome.values()) {
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
        private final Map<Outcome, Timer> byOutcome;
        private final long began;

        private Measured(Map<Outcome, Timer> byOutcome, long began) {
            this.byOutcome = byOutcome;
            this.began = began;
        }

        private void over(Outcome outcome) {
            long took = registry.config().clock().monotonicTime() - began;
            Objects.requireNonNull(byOutcome.get(outcome)).record(took, TimeUnit.NANOSECONDS);
        }

        @Override
        public void answered(OutboundMessage answer) {
            over(answer.kind() == EventKind.ERROR ? Outcome.FAILED : Outcome.ANSWERED);
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
