package dev.holdfast.spring.client.autoconfigure;

import io.modelcontextprotocol.spec.McpClientTransport;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.springframework.beans.factory.DisposableBean;
import reactor.core.publisher.Mono;

/**
 * The transports of an application, which end with it. Clients close theirs; but where one of several connections keeps the application
 * from starting, nobody closes the clients of the others, and their sessions would be held for as long as the JVM runs.
 */
final class BuiltTransports implements DisposableBean {
    private final Queue<McpClientTransport> transports = new ConcurrentLinkedQueue<>();

    McpClientTransport add(McpClientTransport transport) {
        transports.add(transport);
        return transport;
    }

    @Override
    public void destroy() {
        Mono.whenDelayError(transports.stream()
                        .map(McpClientTransport::closeGracefully)
                        .toList())
                .toFuture()
                .join();
    }
}
