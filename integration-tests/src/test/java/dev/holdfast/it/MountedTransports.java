package dev.holdfast.it;

import dev.holdfast.mcp.HoldfastTransportProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Transports of Holdfast, each made on demand in a container of its own. */
final class MountedTransports {
    private final ContainerKind kind;
    private final List<HoldfastTransportProvider> transports = new ArrayList<>();
    private final List<Container> containers = new ArrayList<>();

    MountedTransports(ContainerKind kind) {
        this.kind = kind;
    }

    HoldfastTransportProvider mount() {
        HoldfastTransportProvider transport =
                HoldfastTransportProvider.builder().build();
        Container container = kind.create(10, Duration.ofSeconds(20));
        try {
            container.start(transport, List.of());
        } catch (Exception e) {
            throw new IllegalStateException("the container did not start", e);
        }
        transports.add(transport);
        containers.add(container);
        return transport;
    }

    /** Ends all there are; some of the inherited tests do so in their middle. */
    void close() {
        transports.forEach(transport -> transport.closeGracefully().block(Duration.ofSeconds(10)));
        transports.clear();
        for (Container container : containers) {
            try {
                container.stop();
            } catch (Exception e) {
                throw new IllegalStateException("the container did not stop", e);
            }
        }
        containers.clear();
    }
}
