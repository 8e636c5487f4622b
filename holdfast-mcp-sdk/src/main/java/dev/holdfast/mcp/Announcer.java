package dev.holdfast.mcp;

import dev.holdfast.Session;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.spi.OutboundMessage;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * Sends what the server says to its clients by itself. It goes into their sessions and not by way of the SDK's, because a
 * session that has come back may have its client before the SDK knows of it again.
 */
final class Announcer {
    private static final Logger log = LoggerFactory.getLogger(Announcer.class);

    private final SessionEngine engine;
    private final SdkBackend backend;
    private final SdkMessages messages;

    Announcer(SessionEngine engine, SdkBackend backend, SdkMessages messages) {
        this.engine = engine;
        this.backend = backend;
        this.messages = messages;
    }

    /** Sends a notification to every session; never fails because of one of them. */
    Mono<Void> toAll(String method, Object params) {
        return announce(method, params, session -> true).onErrorResume(failure -> {
            log.warn("a notification was not kept for every session: {}", failure.toString());
            return Mono.empty();
        });
    }

    /**
     * Sends a notification to a session, by the id the client holds or by the SDK's own. A session whose backend is not there is
     * looked for among all, for whose it is is not known.
     */
    Mono<Void> toOne(String sessionId, String method, Object params) {
        return Mono.defer(() -> backend.connection(sessionId)
                .map(connection -> SinkTransport.committed(engine.announce(
                        messages.notification(method, params), connection.clientSessionId(), connection.principal())))
                .orElseGet(
                        () -> announce(method, params, session -> session.id().equals(sessionId))));
    }

    private Mono<Void> announce(String method, Object params, Predicate<Session> to) {
        return Mono.defer(() -> {
            OutboundMessage notification = messages.notification(method, params);
            return SinkTransport.committed(engine.announce(notification, to));
        });
    }
}
