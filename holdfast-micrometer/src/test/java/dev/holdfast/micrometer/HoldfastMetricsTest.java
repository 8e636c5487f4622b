package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Engines that come and go, and are more than one, in a registry that stays. */
class HoldfastMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    /** An engine that has refused so many requests. */
    private static SessionEngine engine(int refused) {
        SessionEngine engine = SessionEngine.builder((request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
                .build();
        for (int i = 0; i < refused; i++) {
            engine.refused(Refusal.UNAUTHENTICATED, "by the test");
        }
        return engine;
    }

    private double refused(String... tags) {
        return registry.get("holdfast.refusals")
                .tag("reason", "unauthenticated")
                .tags(tags)
                .functionCounter()
                .count();
    }

    @Test
    void anEngineTakesThePlaceOfOneThatIsOver() {
        try (SessionEngine first = engine(1);
                HoldfastMetrics metrics = new HoldfastMetrics(registry)) {
            metrics.watch(first);
            assertThat(refused()).isEqualTo(1);
        }
        assertThat(registry.getMeters())
                .noneMatch(meter -> meter.getId().getName().equals("holdfast.refusals"));
        assertThat(registry.find("holdfast.sessions").meters()).isEmpty();

        try (SessionEngine second = engine(3);
                HoldfastMetrics metrics = new HoldfastMetrics(registry)) {
            metrics.watch(second);
            assertThat(refused()).isEqualTo(3);
        }
    }

    @Test
    void twoEnginesShareARegistryByACommonTag() {
        MeterRegistry here = tagged("here");
        MeterRegistry there = tagged("there");
        try (SessionEngine first = engine(1);
                SessionEngine second = engine(2);
                HoldfastMetrics firsts = new HoldfastMetrics(here);
                HoldfastMetrics seconds = new HoldfastMetrics(there)) {
            firsts.watch(first);
            seconds.watch(second);
            assertThat(refused("transport", "here")).isEqualTo(1);
            assertThat(refused("transport", "there")).isEqualTo(2);
        }
        assertThat(registry.find("holdfast.refusals").meters()).isEmpty();
    }

    private MeterRegistry tagged(String transport) {
        CompositeMeterRegistry tagged = new CompositeMeterRegistry();
        tagged.config().commonTags("transport", transport);
        tagged.add(registry);
        return tagged;
    }
}
