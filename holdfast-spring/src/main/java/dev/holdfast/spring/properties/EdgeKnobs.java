package dev.holdfast.spring.properties;

import static dev.holdfast.spring.properties.Knob.turn;

import dev.holdfast.Lifetime;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import java.time.Duration;
import java.util.Optional;
import org.springframework.util.unit.DataSize;

/** The properties that concern connections and requests. */
final class EdgeKnobs {
    private EdgeKnobs() {}

    static EdgeOptions of(HoldfastProperties properties, Paths paths) {
        EdgeOptions.Builder edge =
                requests(connections(EdgeOptions.builder(), properties.connection()), properties.request());
        return edge.lifetime(lifetime(properties.session()))
                .allowDelete(paths.deletable())
                .httpSse(properties.sse().enabled() ? Optional.of(httpSse(properties.sse(), paths)) : Optional.empty())
                .build();
    }

    private static EdgeOptions.Builder connections(EdgeOptions.Builder edge, HoldfastProperties.Connection from) {
        edge = turn("holdfast.connection.heartbeat-interval", from.heartbeatInterval(), edge::heartbeatInterval);
        Duration retry = from.retryInterval();
        if (retry != null) {
            edge = turn("holdfast.connection.retry-interval", retry, edge::retryInterval);
        }
        edge = turn("holdfast.connection.max-age", from.maxAge(), edge::maxConnectionAge);
        return turn("holdfast.connection.stall-deadline", from.stallDeadline(), edge::stallDeadline);
    }

    private static EdgeOptions.Builder requests(EdgeOptions.Builder edge, HoldfastProperties.Request from) {
        edge = turn("holdfast.request.max-size", bytes(from.maxSize()), edge::maxRequestSize);
        DataSize total = from.maxTotalSize();
        if (total != null) {
            edge = turn("holdfast.request.max-total-size", total.toBytes(), edge::maxRequestBytes);
        }
        edge = turn("holdfast.request.deadline", from.deadline(), edge::requestDeadline);
        edge = turn("holdfast.request.allowed-hosts", from.allowedHosts(), edge::allowedHosts);
        return turn("holdfast.request.allowed-origins", from.allowedOrigins(), edge::allowedOrigins);
    }

    private static int bytes(DataSize size) {
        return turn("holdfast.request.max-size", size.toBytes(), bytes -> {
            if (bytes > Integer.MAX_VALUE) {
                throw new IllegalArgumentException("maxRequestSize must be at most 2 GB");
            }
            return bytes.intValue();
        });
    }

    private static Lifetime lifetime(HoldfastProperties.Session from) {
        Lifetime lifetime = Lifetime.DEFAULT;
        lifetime = turn("holdfast.session.reconnect-grace-period", from.reconnectGracePeriod(), lifetime::withGrace);
        lifetime = turn("holdfast.session.idle-timeout", from.idleTimeout(), lifetime::withIdle);
        lifetime = turn("holdfast.session.response-retention", from.responseRetention(), lifetime::withRetention);
        lifetime = turn(
                "holdfast.session.initialization-timeout", from.initializationTimeout(), lifetime::withInitialization);
        return turn("holdfast.session.max-call-duration", from.maxCallDuration(), lifetime::withCall);
    }

    private static HttpSseOptions httpSse(HoldfastProperties.Sse from, Paths paths) {
        HttpSseOptions alone = paths.sse().turn(path -> HttpSseOptions.DEFAULT.withPaths(path, path + "-message"));
        HttpSseOptions sse = paths.message().turn(path -> alone.withPaths(alone.path(), path));
        sse = paths.base().turn(sse::withBase);
        return turn("holdfast.sse.reconnect-grace-period", from.reconnectGracePeriod(), sse::withReconnectGrace);
    }
}
