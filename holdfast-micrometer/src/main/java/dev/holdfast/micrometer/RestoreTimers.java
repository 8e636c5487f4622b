package dev.holdfast.micrometer;

import dev.holdfast.RestoreOutcome;
import dev.holdfast.SessionLifecycleListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/** How long sessions take to get a fresh backend. */
final class RestoreTimers implements SessionLifecycleListener {
    private final Map<RestoreOutcome, Timer> timers = new EnumMap<>(RestoreOutcome.class);

    RestoreTimers(MeterRegistry registry) {
        for (RestoreOutcome outcome : RestoreOutcome.values()) {
            timers.put(
                    outcome,
                    Timer.builder("holdfast.restores")
                            .description("Attempts to bring a fresh backend to the state of the one before")
                            .tag("outcome", Tags.of(outcome))
                            .serviceLevelObjectives(
                                    Duration.ofMillis(10),
                                    Duration.ofMillis(100),
                                    Duration.ofSeconds(1),
                                    Duration.ofSeconds(10),
                                    Duration.ofSeconds(30))
                            .register(registry));
        }
    }

    @Override
    public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
        Objects.requireNonNull(timers.get(outcome)).record(took);
    }
}
