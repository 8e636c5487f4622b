package dev.holdfast.client;

import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.envelope;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ResponseTest {
    private final List<String> happened = new ArrayList<>();
    private CompletableFuture<Void> taken = new CompletableFuture<>();
    private final Response response = new Response(
            call(1),
            new ToldProgress(),
            message -> {
                happened.add("handed over");
                return taken;
            },
            () -> happened.add("done"));

    private void happens(String what) {
        happened.add(what);
    }

    @Test
    void nothingEndsARequestWhoseResponseWasTaken() {
        response.message(envelope(answer(1)));
        response.giveUp(() -> happens("lost"));
        response.ask(() -> happens("asked again"));
        taken.complete(null);
        response.giveUp(() -> happens("lost later"));
        response.ask(() -> happens("asked again later"));

        assertThat(happened).containsExactly("handed over", "done");
        assertThat(response.taken()).isTrue();
    }

    @Test
    void theFirstOfTheOtherEndsCountsWhereTheTakingFails() {
        response.message(envelope(answer(1)));
        response.ask(() -> happens("asked again"));
        response.giveUp(() -> happens("lost"));
        response.giveUp(() -> happens("closed"));
        taken.completeExceptionally(new IllegalStateException("not now"));

        assertThat(happened).containsExactly("handed over", "lost");
        assertThat(response.taken()).isFalse();
    }

    @Test
    void responseIsAskedForOnceMoreWhereTheTakingFails() {
        response.message(envelope(answer(1)));
        response.ask(() -> happens("asked again"));
        taken.completeExceptionally(new IllegalStateException("not now"));
        taken = CompletableFuture.completedFuture(null);
        response.message(envelope(answer(1)));

        assertThat(happened).containsExactly("handed over", "asked again", "handed over", "done");
    }

    @Test
    void aTakerThatFailsAtOnceHasNotTakenIt() {
        Response thrown = new Response(
                call(1),
                new ToldProgress(),
                message -> {
                    throw new NoClassDefFoundError("by the test");
                },
                () -> happens("done"));

        assertThatThrownBy(() -> thrown.message(envelope(answer(1)))).isInstanceOf(NoClassDefFoundError.class);
        thrown.giveUp(() -> happens("lost"));

        assertThat(happened).containsExactly("lost");
    }

    @Test
    void responseOfARequestThatHasEndedIsHandedToNobody() {
        response.giveUp(() -> happens("lost"));
        response.message(envelope(answer(1)));

        assertThat(happened).containsExactly("lost");
        assertThat(response.taken()).isFalse();
    }
}
