package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** In which order the messages of a session begin. */
@Timeout(30)
class DeparturesTest {
    private static final Envelope INITIALIZED = message("notifications/initialized");
    private static final Envelope OTHER = message("notifications/progress");

    private final List<Runnable> due = new ArrayList<>();
    private final Departures departures = new Departures((millis, task) -> {
        due.add(task);
        return new CompletableFuture<>();
    });
    private final List<String> begun = new ArrayList<>();

    private static Envelope message(String method) {
        byte[] json = ("{\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\"}").getBytes(UTF_8);
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json)).message();
    }

    private CompletableFuture<Outcome> send(String name, Envelope message) {
        CompletableFuture<Outcome> answer = new CompletableFuture<>();
        departures.send(message, () -> {
            begun.add(name);
            return answer;
        });
        return answer;
    }

    @Test
    void whatComesBeforeTheOpeningWaitsInOrder() {
        send("first", OTHER);
        send("second", OTHER);
        assertThat(begun).isEmpty();

        departures.open();
        send("third", OTHER);

        assertThat(begun).containsExactly("first", "second", "third");
    }

    @Test
    void nothingOvertakesTheIntroduction() {
        departures.open();
        CompletableFuture<Outcome> introduced = send("initialized", INITIALIZED);
        send("first", OTHER);
        send("second", OTHER);
        assertThat(begun).containsExactly("initialized");

        introduced.complete(new Outcome.Done());

        assertThat(begun).containsExactly("initialized", "first", "second");
    }

    @Test
    void anIntroductionThatIsNeverAnsweredStopsOthersForAWhile() {
        departures.open();
        send("initialized", INITIALIZED);
        send("first", OTHER);
        assertThat(begun).containsExactly("initialized");

        due.get(0).run();

        assertThat(begun).containsExactly("initialized", "first");
    }

    /** Whoever acts on the answer may send more, and wait for it. */
    @Test
    void othersBeginBeforeAnybodyHearsOfTheAnswer() {
        departures.open();
        CompletableFuture<Outcome> introduced = new CompletableFuture<>();
        departures.send(INITIALIZED, () -> introduced).thenRun(() -> begun.add("heard"));
        send("first", OTHER);

        introduced.complete(new Outcome.Done());

        assertThat(begun).containsExactly("first", "heard");
    }

    @Test
    void anIntroductionThatFailsStopsNobody() {
        departures.open();
        CompletableFuture<Outcome> introduced = send("initialized", INITIALIZED);
        send("first", OTHER);

        introduced.completeExceptionally(new IllegalStateException("no"));

        assertThat(begun).containsExactly("initialized", "first");
    }

    @Test
    void whoCannotBeginIsToldAndStopsNobody() {
        departures.open();

        CompletableFuture<Outcome> sent = departures.send(OTHER, () -> {
            throw new IllegalStateException("no");
        });
        send("next", OTHER);

        assertThat(sent).isCompletedExceptionally();
        assertThat(begun).containsExactly("next");
    }

    @Test
    void whatIsSentWhileAnotherBeginsComesBehindWhatWaits() {
        departures.send(OTHER, () -> {
            send("inner", OTHER);
            begun.add("outer");
            return CompletableFuture.completedFuture(new Outcome.Done());
        });
        send("waiting", OTHER);
        departures.open();

        assertThat(begun).containsExactly("outer", "waiting", "inner");
    }
}
