package dev.holdfast.client;

import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.envelope;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ResponseTest {
    private final List<String> happened = new ArrayList<>();
    private CompletableFuture<Void> taken = new CompletableFuture<>();
    private final Response response = response(message -> {
        happened.add("handed over");
        return taken;
    });

    private Response response(MessageSink sink) {
        return new Response(
                call(1),
                new ToldProgress(),
                sink,
                Runnable::run,
                outcome -> happened.add(outcome instanceof Outcome.Unreadable lost ? lost.reason() : "done"),
                () -> happened.add("asked again"));
    }

    private void comes(Response to) {
        var unused = to.take(envelope(answer(1)));
    }

    private void lost(String how) {
        response.giveUp(new Outcome.Unreadable(how));
    }

    @Test
    void nothingEndsARequestWhoseResponseWasTaken() {
        comes(response);
        lost("lost");
        assertThat(response.asks()).isFalse();
        taken.complete(null);
        lost("lost later");
        assertThat(response.asks()).isFalse();

        assertThat(happened).containsExactly("handed over", "done");
        assertThat(response.taken()).isTrue();
    }

    @Test
    void theFirstOfTheOtherEndsCountsWhereTheTakingFails() {
        comes(response);
        assertThat(response.asks()).isFalse();
        lost("lost");
        lost("closed");
        taken.completeExceptionally(new IllegalStateException("not now"));

        assertThat(happened).containsExactly("handed over", "lost");
        assertThat(response.taken()).isFalse();
    }

    @Test
    void responseIsAskedForOnceMoreWhereTheTakingFails() {
        comes(response);
        assertThat(response.asks()).isFalse();
        taken.completeExceptionally(new IllegalStateException("not now"));
        taken = CompletableFuture.completedFuture(null);
        comes(response);

        assertThat(happened).containsExactly("handed over", "asked again", "handed over", "done");
    }

    @Test
    void aTakerThatFailsAtOnceHasNotTakenIt() {
        Response thrown = response(message -> {
            throw new NoClassDefFoundError("by the test");
        });

        comes(thrown);
        thrown.giveUp(new Outcome.Unreadable("lost"));

        assertThat(happened).containsExactly("lost");
    }

    @Test
    void responseOfARequestThatHasEndedIsHandedToNobody() {
        lost("lost");
        comes(response);

        assertThat(happened).containsExactly("lost");
        assertThat(response.taken()).isFalse();
    }
}
