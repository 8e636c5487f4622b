package dev.holdfast.gateway;

import dev.holdfast.ByteBudget;
import dev.holdfast.CallListener;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.stdio.StdioBackend;
import dev.holdfast.micrometer.HoldfastMetrics;
import dev.holdfast.spi.SessionStore;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.atomic.AtomicBoolean;

/** The meters of a gateway. Those of the JVM are registered at the first scrape, for they would delay the start. */
final class Meters {
    private static final String SERVER = "server";

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final AtomicBoolean asked = new AtomicBoolean();

    /** Those of a server, which have its name as a tag; of the only one, without that, if the name is empty. */
    OfServer of(String name) {
        if (name.isEmpty()) {
            return new OfServer(registry, registry, name, new HoldfastMetrics(registry));
        }
        CompositeMeterRegistry tagged = new CompositeMeterRegistry();
        tagged.config().commonTags(SERVER, name);
        tagged.add(registry);
        return new OfServer(tagged, registry, name, new HoldfastMetrics(tagged));
    }

    /**
     * The meters of one server.
     *
     * @param to where they are registered
     * @param all where they are read
     */
    record OfServer(MeterRegistry to, MeterRegistry all, String name, HoldfastMetrics holdfast)
            implements AutoCloseable {
        SessionLifecycleListener sessions() {
            return holdfast.sessions();
        }

        CallListener calls() {
            return holdfast.calls();
        }

        /** The same store, whose work is measured. */
        SessionStore timed(SessionStore store) {
            return holdfast.timed(store);
        }

        void watch(SessionEngine engine) {
            holdfast.watch(engine);
        }

        void watch(StdioBackend backend) {
            children(backend, to);
        }

        /** Takes what has the server's name out again. */
        @Override
        public void close() {
            all.getMeters().stream()
                    .filter(meter -> name.equals(meter.getId().getTag(SERVER)))
                    .forEach(all::remove);
        }
    }

    private static void children(StdioBackend backend, MeterRegistry registry) {
        Gauge.builder("holdfast.children", backend, StdioBackend::size)
                .description("Child processes, those included that are about to end")
                .register(registry);
        Gauge.builder("holdfast.children.most", backend, StdioBackend::mostConnections)
                .description("How many child processes there may be")
                .register(registry);
        FunctionCounter.builder("holdfast.children.started", backend, StdioBackend::started)
                .description("Child processes that were started")
                .register(registry);
        FunctionCounter.builder("holdfast.children.unstarted", backend, StdioBackend::unstarted)
                .description("Child processes that could not be started")
                .register(registry);
        FunctionCounter.builder("holdfast.children.died", backend, StdioBackend::died)
                .description("Child processes that ended before they were told to, or broke a rule")
                .register(registry);
        FunctionCounter.builder("holdfast.children.left.behind", backend, StdioBackend::leftBehind)
                .description(
                        "Child processes that left others behind, outside of their group, which had their pipes open")
                .register(registry);
        Gauge.builder("holdfast.children.waiting", backend.budget(), ByteBudget::waiting)
                .description("Child processes that are held back, since a large message of theirs waits for room")
                .register(registry);
        Gauge.builder("holdfast.children.outputs", backend.budget(), ByteBudget::messages)
                .baseUnit("bytes")
                .description("Room that large messages of child processes take")
                .register(registry);
    }

    /** All meters; for tests. */
    MeterRegistry registry() {
        return registry;
    }

    /** All of it as it is now, in the text format of Prometheus. */
    String scrape() {
        if (asked.compareAndSet(false, true)) {
            new JvmMemoryMetrics().bindTo(registry);
            new JvmThreadMetrics().bindTo(registry);
            new ProcessorMetrics().bindTo(registry);
            new FileDescriptorMetrics().bindTo(registry);
            new UptimeMetrics().bindTo(registry);
        }
        return registry.scrape();
    }
}
