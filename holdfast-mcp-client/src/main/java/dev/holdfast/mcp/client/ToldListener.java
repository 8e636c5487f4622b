package dev.holdfast.mcp.client;

import dev.holdfast.client.held.HeldWatch;
import java.time.Duration;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells the application's listener, and the log, what happens to a session. */
final class ToldListener implements HeldWatch {
    private static final Logger log = LoggerFactory.getLogger(HoldfastClientTransport.class);

    private final ClientListener listener;
    private final String server;
    private final Consumer<Throwable> failures;

    /**
     * Tells of the session at a server.
     *
     * @param failures takes what nobody else hears of, and does not throw
     */
    ToldListener(ClientListener listener, String server, Consumer<Throwable> failures) {
        this.listener = listener;
        this.server = server;
        this.failures = failures;
    }

    private void tell(Runnable news) {
        try {
            news.run();
        } catch (RuntimeException e) {
            log.error("the listener of the connection to {} failed", server, e);
        }
    }

    @Override
    public void reconnecting(Throwable cause) {
        log.info("the connection to {} broke and is brought back: {}", server, cause.toString());
        tell(() -> listener.onReconnecting(cause));
    }

    @Override
    public void resumed(Duration away) {
        log.info("the connection to {} is back after {} ms", server, away.toMillis());
        tell(() -> listener.onResumed(away));
    }

    @Override
    public void gap() {
        log.warn("notifications of {} may be missing", server);
        tell(listener::onGap);
    }

    @Override
    public void sessionReplaced() {
        log.warn("{} had lost the session; another one has taken its place", server);
        tell(listener::onSessionReplaced);
    }

    @Override
    public void failed(Throwable failure) {
        log.warn("the connection to {}: {}", server, failure.toString());
        failures.accept(failure);
    }
}
