package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.client.wire.SseEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class TakenEventsTest {
    private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

    private final TakenEvents events = new TakenEvents();
    private final List<String> taken = new ArrayList<>();

    private static SseEvent event(String id, String data) {
        return new SseEvent(id.isEmpty() ? Optional.empty() : Optional.of(id), SseEvent.MESSAGE, data.getBytes(UTF_8));
    }

    private CompletableFuture<Void> take(String id, String data, boolean resumed, CompletableFuture<Void> end) {
        return take(0, id, data, resumed, end);
    }

    private CompletableFuture<Void> take(
            int stream, String id, String data, boolean resumed, CompletableFuture<Void> end) {
        return events.once(event(id, data), stream, resumed, () -> {
                    taken.add(id + " " + data);
                    return end;
                })
                .toCompletableFuture();
    }

    @Test
    void whatOneStreamBroughtIsNoNewsOnAnotherThatWasResumed() {
        take("1", "one", false, DONE);
        take("2", "two", true, DONE);

        assertThat(take("1", "one", true, DONE)).isCompleted();
        assertThat(take("2", "two", false, DONE)).isCompleted();

        assertThat(taken).containsExactly("1 one", "2 two");
    }

    @Test
    void anotherIdOrOtherDataIsAnotherEvent() {
        take("1", "one", true, DONE);
        take("1", "two", true, DONE);
        take("2", "one", true, DONE);

        assertThat(taken).containsExactly("1 one", "1 two", "2 one");
    }

    @Test
    void streamsThatWereNotResumedMayUseTheSameIds() {
        take("1", "started", false, DONE);
        take("1", "started", false, DONE);

        assertThat(taken).hasSize(2);
    }

    @Test
    void whatHasNoIdIsAlwaysNew() {
        take("", "ping", true, DONE);
        take("", "ping", true, DONE);

        assertThat(taken).hasSize(2);
    }

    @Test
    void aStreamWaitsUntilTheOtherHasTakenTheEvent() {
        CompletableFuture<Void> slow = new CompletableFuture<>();
        CompletableFuture<Void> first = take("1", "one", true, slow);

        CompletableFuture<Void> second = take("1", "one", true, DONE);

        assertThat(first).isNotDone();
        assertThat(second).isNotDone();
        slow.complete(null);
        assertThat(second).isCompleted();
        assertThat(taken).hasSize(1);
    }

    @Test
    void whatCouldNotBeTakenIsNew() {
        CompletableFuture<Void> broken = new CompletableFuture<>();
        take("1", "one", true, broken);
        CompletableFuture<Void> second = take("1", "one", true, DONE);
        broken.completeExceptionally(new IllegalStateException("not now"));

        assertThat(second).isCompletedExceptionally();
        assertThat(take("1", "one", true, DONE)).isCompleted();
        assertThat(taken).hasSize(2);
    }

    @Test
    void theLastThousandAreRemembered() {
        for (int i = 0; i < 3_000; i++) {
            take("id-" + i, "data", true, DONE);
        }
        taken.clear();

        for (int i = 2_000; i < 3_000; i++) {
            take("id-" + i, "data", true, DONE);
        }
        assertThat(taken).isEmpty();
        take("id-1", "data", true, DONE);
        assertThat(taken).hasSize(1);
    }

    @Test
    void whatThrowsWasNotTaken() {
        IllegalStateException broken = new IllegalStateException("not now");
        assertThatThrownBy(() -> events.once(event("1", "one"), 0, true, () -> {
                    throw broken;
                }))
                .isSameAs(broken);

        assertThat(take("1", "one", true, DONE)).isCompleted();
        assertThat(taken).hasSize(1);
    }

    @Test
    void onlyAnEventOfAnotherStreamShowsThatTheServerRepeats() {
        take("1", "one", false, DONE);
        take("2", "two", true, DONE);
        take("2", "two", true, DONE);
        assertThat(events.repeats()).isFalse();

        take(1, "1", "one", true, DONE);
        assertThat(events.repeats()).isTrue();
        assertThat(taken).hasSize(2);
    }

    @Test
    void idsMayBeginAgain() {
        take("1", "one", true, DONE);
        events.clear();
        take("1", "one", true, DONE);

        assertThat(taken).hasSize(2);
    }
}
