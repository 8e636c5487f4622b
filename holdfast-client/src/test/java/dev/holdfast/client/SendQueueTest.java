package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** In which order the messages of a session begin. */
@Timeout(30)
class SendQueueTest {
    private static final Envelope INITIALIZED = message("notifications/initialized");
    private static final Envelope OTHER = message("notifications/progress");

    private final List<Runnable> due = new ArrayList<>();
    private CompletableFuture<String> place = new CompletableFuture<>();
    private final SendQueue<String> queue = new SendQueue<>(
            (millis, task) -> {
                due.add(task);
                return new CompletableFuture<>();
            },
            () -> place);
    private final List<String> begun = new ArrayList<>();

    private static Envelope message(String method) {
        byte[] json = ("{\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\"}").getBytes(UTF_8);
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json)).message();
    }

    private CompletableFuture<Outcome> send(String name, Envelope message) {
        CompletableFuture<Outcome> answer = new CompletableFuture<>();
        queue.send(message, where -> {
            begun.add(name);
            return answer;
        });
        return answer;
    }

    @Test
    void whatComesBeforeThereIsAPlaceWaitsInOrder() {
        send("first", OTHER);
        send("second", OTHER);
        assertThat(begun).isEmpty();

        place.complete("here");
        send("third", OTHER);

        assertThat(begun).containsExactly("first", "second", "third");
    }

    @Test
    void whatComesBehindAChangeOfThePlaceDoesNotGoToTheOneBefore() {
        CompletableFuture<String> before = CompletableFuture.completedFuture("before");
        CompletableFuture<String> after = CompletableFuture.completedFuture("after");
        AtomicInteger looks = new AtomicInteger();
        SendQueue<String> moving = new SendQueue<>(
                (millis, task) -> new CompletableFuture<>(), () -> looks.getAndIncrement() == 0 ? before : after);

        moving.send(OTHER, where -> {
            begun.add(where);
            return new CompletableFuture<>();
        });

        assertThat(begun).containsExactly("after");
    }

    @Test
    void nothingOvertakesTheIntroduction() {
        place.complete("here");
        CompletableFuture<Outcome> initialized = send("initialized", INITIALIZED);
        send("first", OTHER);
        send("second", OTHER);
        assertThat(begun).containsExactly("initialized");

        initialized.complete(new Outcome.Done());

        assertThat(begun).containsExactly("initialized", "first", "second");
    }

    @Test
    void anIntroductionThatIsNeverAnsweredStopsOthersForAWhile() {
        place.complete("here");
        send("initialized", INITIALIZED);
        send("first", OTHER);
        assertThat(begun).containsExactly("initialized");

        due.get(0).run();

        assertThat(begun).containsExactly("initialized", "first");
    }

    /** Whoever acts on the answer may send more, and wait for it. */
    @Test
    void othersBeginBeforeAnybodyHearsOfTheAnswer() {
        place.complete("here");
        CompletableFuture<Outcome> initialized = new CompletableFuture<>();
        queue.send(INITIALIZED, where -> initialized).thenRun(() -> begun.add("heard"));
        send("first", OTHER);

        initialized.complete(new Outcome.Done());

        assertThat(begun).containsExactly("first", "heard");
    }

    @Test
    void anIntroductionThatFailsStopsNobody() {
        place.complete("here");
        CompletableFuture<Outcome> initialized = send("initialized", INITIALIZED);
        send("first", OTHER);

        initialized.completeExceptionally(new IllegalStateException("no"));

        assertThat(begun).containsExactly("initialized", "first");
    }

    @Test
    void whoCannotBeginIsToldAndStopsNobody() {
        place.complete("here");

        CompletableFuture<Outcome> sent = queue.send(OTHER, where -> {
            throw new IllegalStateException("no");
        });
        send("next", OTHER);

        assertThat(sent).isCompletedExceptionally();
        assertThat(begun).containsExactly("next");
    }

    @Test
    void whatIsSentWhileAnotherBeginsComesBehindWhatWaits() {
        queue.send(OTHER, where -> {
            send("inner", OTHER);
            begun.add("outer");
            return CompletableFuture.completedFuture(new Outcome.Done());
        });
        send("waiting", OTHER);
        place.complete("here");

        assertThat(begun).containsExactly("outer", "waiting", "inner");
    }

    @Test
    void whatWaitsForAnotherPlaceGoesThere() {
        List<String> places = new ArrayList<>();
        place.complete("here");
        place = new CompletableFuture<>();
        CompletableFuture<Outcome> sent = queue.send(OTHER, where -> {
            places.add(where);
            return CompletableFuture.completedFuture(new Outcome.Done());
        });
        assertThat(sent).isNotDone();

        place.complete("there");

        assertThat(places).containsExactly("there");
        assertThat(sent).isCompletedWithValue(new Outcome.Done());
    }

    @Test
    void whatIsTakenBackBeforeItHasBegunNeverBegins() {
        Envelope second = message("notifications/progress");
        send("first", OTHER);
        CompletableFuture<Outcome> sent = queue.send(second, where -> {
            throw new IllegalStateException("taken back");
        });

        assertThat(queue.withdraw(second)).isTrue();

        assertThat(sent).isCompletedWithValue(new Outcome.Cancelled());
        place.complete("here");
        assertThat(begun).containsExactly("first");
        assertThat(queue.withdraw(OTHER)).isFalse();
    }
}
