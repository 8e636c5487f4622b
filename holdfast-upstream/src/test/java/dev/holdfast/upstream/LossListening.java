package dev.holdfast.upstream;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** The listening stream of a session that nobody reads, and whose losses somebody hears of. */
record LossListening(Consumer<List<InboundMessage>> losses) implements ListeningSink {
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
        return "session";
    }

    @Override
    public void lost(String cause) {
        losses.accept(List.of());
    }

    @Override
    public void lost(String cause, List<InboundMessage> untouched) {
        losses.accept(untouched);
    }
}
