package dev.holdfast.spring.actuate;

import dev.holdfast.mcp.HoldfastTransportProvider;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;

/** {@link HoldfastHealthIndicator} by the types of Spring Boot 3. */
public final class Boot3HealthIndicator implements HealthIndicator {
    private final HoldfastTransportProvider transport;

    /** Looks at a transport and its store. */
    public Boot3HealthIndicator(HoldfastTransportProvider transport) {
        this.transport = transport;
    }

    @Override
    public Health health() {
        Health.Builder health = transport.engine().draining() ? new Health.Builder().outOfService() : Health.up();
        return health.withDetails(HealthDetails.of(transport)).build();
    }
}
