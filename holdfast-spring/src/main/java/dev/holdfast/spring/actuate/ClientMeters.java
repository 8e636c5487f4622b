package dev.holdfast.spring.actuate;

import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.spring.client.ClientConnections;
import dev.holdfast.spring.client.ConnectionListener;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;

/**
 * The meters of the connections, each with the tag {@code connection}: {@code holdfast.client.connected} (1 or 0),
 * {@code .reconnects}, {@code .away} (how long outages lasted that are over; its count is that of the resumes), {@code .gaps} and
 * {@code .sessions.replaced}.
 */
public final class ClientMeters implements ConnectionListener {
    private static final String PREFIX = "holdfast.client.";
    private static final String CONNECTION = "connection";

    private final MeterRegistry registry;

    /** Registers the meters of these connections. */
    public ClientMeters(MeterRegistry registry, ClientConnections connections) {
        this.registry = registry;
        connections.all().forEach(this::register);
    }

    private void register(String name, ClientConnections.Connection connection) {
        Gauge.builder(PREFIX + "connected", connection, it -> it.outage().isEmpty() ? 1 : 0)
                .description("Whether nothing of the connection is known to be broken")
                .tag(CONNECTION, name)
                .register(registry);
        FunctionCounter.builder(PREFIX + "reconnects", connection, ClientConnections.Connection::reconnects)
                .description("Outages that have begun")
                .tag(CONNECTION, name)
                .register(registry);
        FunctionCounter.builder(PREFIX + "gaps", connection, ClientConnections.Connection::gaps)
                .description("Times that notifications were missing, or may have been")
                .tag(CONNECTION, name)
                .register(registry);
        FunctionCounter.builder(
                        PREFIX + "sessions.replaced", connection, ClientConnections.Connection::sessionsReplaced)
                .description("Sessions that the server had lost")
                .tag(CONNECTION, name)
                .register(registry);
        away(name);
    }

    private Timer away(String name) {
        return Timer.builder(PREFIX + "away")
                .description("Outages that are over")
                .tag(CONNECTION, name)
                .register(registry);
    }

    @Override
    public ClientListener of(String connection) {
        Timer away = away(connection);
        return new ClientListener() {
            @Override
            public void onResumed(Duration lasted) {
                away.record(lasted);
            }
        };
    }
}
