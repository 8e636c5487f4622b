package dev.holdfast.spring.actuate;

import dev.holdfast.EngineStats;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spi.SessionStore;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * Up while sessions are served, out of service while the transport drains. A store that cannot write now is told as a detail,
 * {@code storeTrouble}, and does not make it down: to restart the node, or to take it away, would help nobody.
 */
public final class HoldfastHealthIndicator implements HealthIndicator {
    private final HoldfastTransportProvider transport;
    private final SessionStore store;

    /** Looks at a transport and its store. */
    public HoldfastHealthIndicator(HoldfastTransportProvider transport, SessionStore store) {
        this.transport = transport;
        this.store = store;
    }

    @Override
    public Health health() {
        EngineStats stats = transport.engine().stats();
        Health.Builder health = transport.engine().draining() ? new Health.Builder().outOfService() : Health.up();
        store.trouble().ifPresent(words -> health.withDetail("storeTrouble", words));
        return health.withDetail("sessions", stats.sessions())
                .withDetail("parked", stats.parked())
                .withDetail("streams", transport.openConnections())
                .withDetail("runningCalls", stats.runningCalls())
                .withDetail("storeSurvives", store.promise().durability())
                .withDetail("mayWrite", transport.engine().mayWrite())
                .build();
    }
}
