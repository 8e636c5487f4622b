package dev.holdfast.json;

import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The listening stream of a session that nobody reads. */
class UnheardListening implements ListeningSink {
    private final String sessionId;

    /**
     * A stream.
     *
     * @param sessionId empty while the session is being opened; over HTTP+SSE there is one from the beginning
     */
    UnheardListening(String sessionId) {
        this.sessionId = sessionId;
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public boolean attached() {
        return false;
    }

    @Override
    public boolean followed() {
        return false;
    }

    @Override
    public void onAbandon(Runnable hook) {}

    @Override
    public String sessionId() {
        return sessionId;
    }

    @Override
    public void lost(String cause) {}
}
