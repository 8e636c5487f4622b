package dev.holdfast.cluster;

import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/** Takes the right to write from several epochs of a session. */
record Fences(SharedSessionStore store) {
    /** Fences all of these, whatever the store throws at one of them; fails if one could not be fenced. */
    CompletionStage<Void> all(SessionKey key, Stream<Epoch> epochs) {
        return CompletableFuture.allOf(epochs.map(epoch -> StoreQuestion.asked(() -> store.fence(key, epoch)))
                .map(CompletionStage::toCompletableFuture)
                .toArray(CompletableFuture[]::new));
    }
}
