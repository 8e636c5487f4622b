package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.ClientListener;
import io.modelcontextprotocol.spec.McpClientTransport;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/** The connections of an application's MCP clients, by their names, and what happened to each so far. Thread-safe. */
public final class ClientConnections implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ClientConnections.class);

    private final Map<String, Connection> connections = new LinkedHashMap<>();
    private final Queue<McpClientTransport> transports = new ConcurrentLinkedQueue<>();

    /** Connections that nothing has happened to yet. */
    public ClientConnections(Collection<String> names) {
        names.stream().sorted().forEach(name -> connections.put(name, new Connection(name)));
    }

    /** All of them, by name. */
    public Map<String, Connection> all() {
        return Collections.unmodifiableMap(connections);
    }

    /** The listener of a connection: it counts, and passes each event on to these; if one fails, the others still hear of it. */
    public ClientListener listener(String name, List<ClientListener> others) {
        Connection connection = Objects.requireNonNull(connections.get(name), name);
        connection.others = List.copyOf(others);
        return connection;
    }

    /**
     * Closes a transport with the application. Clients close theirs; but where one of several connections keeps the application from
     * starting, nobody closes the clients of the others, and their sessions would be held for as long as the JVM runs.
     */
    public McpClientTransport closing(McpClientTransport transport) {
        transports.add(transport);
        return transport;
    }

    @Override
    public void close() {
        Mono.whenDelayError(transports.stream()
                        .map(McpClientTransport::closeGracefully)
                        .toList())
                .toFuture()
                .join();
    }

    /** An outage that is not over. */
    public record Outage(Instant since, Throwable cause) {}

    /** One connection. */
    public static final class Connection implements ClientListener {
        private final String name;
        private final AtomicLong reconnects = new AtomicLong();
        private final AtomicLong gaps = new AtomicLong();
        private final AtomicLong sessionsReplaced = new AtomicLong();
        private volatile @Nullable Outage outage;

        private volatile List<ClientListener> others = List.of();

        private Connection(String name) {
            this.name = name;
        }

        private void tell(Consumer<ClientListener> what) {
            for (ClientListener listener : others) {
                try {
                    what.accept(listener);
                } catch (RuntimeException e) {
                    log.error("a listener of the connection {} failed", name, e);
                }
            }
        }

        @Override
        public void onReconnecting(Throwable cause) {
            reconnects.incrementAndGet();
            outage = new Outage(Instant.now(), cause);
            tell(listener -> listener.onReconnecting(cause));
        }

        @Override
        public void onResumed(Duration away) {
            outage = null;
            tell(listener -> listener.onResumed(away));
        }

        @Override
        public void onGap() {
            gaps.incrementAndGet();
            tell(ClientListener::onGap);
        }

        @Override
        public void onSessionReplaced() {
            sessionsReplaced.incrementAndGet();
            outage = null;
            tell(ClientListener::onSessionReplaced);
        }

        /** What is broken now; empty if nothing is known to be. */
        public Optional<Outage> outage() {
            return Optional.ofNullable(outage);
        }

        /** How often the connection broke. */
        public long reconnects() {
            return reconnects.get();
        }

        /** How often notifications were missing, or may have been. */
        public long gaps() {
            return gaps.get();
        }

        /** How often the server had lost the session. */
        public long sessionsReplaced() {
            return sessionsReplaced.get();
        }
    }
}
