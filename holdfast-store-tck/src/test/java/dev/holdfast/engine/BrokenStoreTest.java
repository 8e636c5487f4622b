package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that throws an error instead of an exception: it has failed like any other, and is asked again. */
class BrokenStoreTest {
    private final TestBed bed = TestBed.durable();
    private final Session session = bed.open();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
    }

    private CompletableFuture<Void> send(String text) {
        return bed.backend.life().sink.send(Wire.notice(text)).toCompletableFuture();
    }

    @Test
    void anAppendThatThrowsIsToldToItsProducerAndTheNextOneIsMade() {
        Connection listening = TestBed.listen(session);
        bed.store.breaking = "append";
        assertThat(send("a")).isCompletedExceptionally();
        assertThat(send("b")).isCompleted();
        assertThat(listening.read()).containsExactly("b");
    }

    @Test
    void aClaimThatThrowsIsMadeAgain() {
        Connection listening = TestBed.listen(session);
        bed.store.decree(TestStore.Fate.LOST);
        bed.store.breaking = "claim";
        CompletableFuture<Void> sent = send("a");
        bed.pass(Duration.ofSeconds(1));
        assertThat(sent).isCompletedExceptionally();
        assertThat(send("b")).isCompleted();
        assertThat(listening.read()).containsExactly("b");
    }

    @Test
    void aSessionThatCouldNotBeBroughtBackForAnErrorComesBackLater() {
        bed.die();
        bed.store.breaking = "claim";
        assertThat(bed.engine.find(session.id(), "").toCompletableFuture()).isCompletedExceptionally();
        assertThat(bed.find(session.id(), "")).isPresent();
    }
}
