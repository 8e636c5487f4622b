package dev.holdfast.spring.actuate;

import dev.holdfast.mcp.HoldfastTransportProvider;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * Up while sessions are served, out of service while the transport drains. A store that cannot write now is told as a detail,
 * {@code storeTrouble}, and does not make it down: to restart the node, or to take it away, would help nobody.
 */
public final class HoldfastHealthIndicator implements HealthIndicator {
    private final HoldfastTransportProvider transport;

    /** Looks at a transport and its store. */
    public HoldfastHealthIndicator(HoldfastTransportProvider transport) {
        this.transport = transport;
    }

    @Override
    public Health health() {
        Health.Builder health = transport.engine().draining() ? new Health.Builder().outOfService() : Health.up();
        return health.withDetails(HealthDetails.of(transport)).build();
    }
}
