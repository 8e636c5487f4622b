package dev.holdfast.spring.client.actuate;

import dev.holdfast.spring.client.ClientConnection;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;

/**
 * Up, or {@code RECONNECTING} while something of the connection is broken. That is a status of its own, which does not make the
 * application down unless {@code management.endpoint.health.status.order} names it: to restart the application would not bring its
 * server back.
 */
public final class ConnectionHealthIndicator implements HealthIndicator {
    /** Something is broken and brought back, or waits for the next message to be brought back. */
    public static final Status RECONNECTING = new Status("RECONNECTING");

    private final ClientConnection connection;

    /** Looks at one connection. */
    public ConnectionHealthIndicator(ClientConnection connection) {
        this.connection = connection;
    }

    @Override
    public Health health() {
        Health.Builder health = connection
                .outage()
                .map(outage -> Health.status(RECONNECTING)
                        .withDetail("since", outage.since().toString())
                        .withDetail("cause", outage.cause().getClass().getName()))
                .orElseGet(Health::up);
        return health.withDetail("reconnects", connection.reconnects())
                .withDetail("gaps", connection.gaps())
                .withDetail("sessionsReplaced", connection.sessionsReplaced())
                .build();
    }
}
