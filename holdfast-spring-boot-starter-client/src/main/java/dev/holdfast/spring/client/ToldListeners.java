package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.ClientListener;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells several listeners of one connection, each whatever becomes of the others. */
public final class ToldListeners implements ClientListener {
    private static final Logger log = LoggerFactory.getLogger(ToldListeners.class);

    private final List<ClientListener> listeners;

    /** Tells these, in this order. */
    public ToldListeners(List<ClientListener> listeners) {
        this.listeners = List.copyOf(listeners);
    }

    private void tell(Consumer<ClientListener> news) {
        for (ClientListener listener : listeners) {
            try {
                news.accept(listener);
            } catch (RuntimeException e) {
                log.error("a listener of a connection failed", e);
            }
        }
    }

    @Override
    public void onReconnecting(Throwable cause) {
        tell(listener -> listener.onReconnecting(cause));
    }

    @Override
    public void onResumed(Duration away) {
        tell(listener -> listener.onResumed(away));
    }

    @Override
    public void onGap() {
        tell(ClientListener::onGap);
    }

    @Override
    public void onSessionReplaced() {
        tell(ClientListener::onSessionReplaced);
    }
}
