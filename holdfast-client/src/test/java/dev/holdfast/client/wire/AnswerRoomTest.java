package dev.holdfast.client.wire;

import static dev.holdfast.client.Eventually.now;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.Eventually;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who may read on of those whose messages are large. */
@Timeout(30)
class AnswerRoomTest {
    private static final int SIZE = 2 * AnswerRoom.FREE;
    private static final long COST = (long) AnswerRoom.COPIES * SIZE;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(50);

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final List<String> going = new CopyOnWriteArrayList<>();
    private final CompletableFuture<String> late = new CompletableFuture<>();
    private final Means means = new Means(
            HttpSender.by(HttpClient.newHttpClient()), Runnable::run, Runnable::run, clock, () -> 0.5, Redirects.NONE);

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    private AnswerRoom.Share reader(AnswerRoom room, String name, int size) {
        AnswerRoom.Share share = room.share(means, failure -> late.complete(name));
        share.hold(size, () -> going.add(name));
        return share;
    }

    @Test
    void thoseWhoWaitAreServedInOrderAndOneOfThemBeyondTheLimit() {
        AnswerRoom room = new AnswerRoom(COST, LONG);
        AnswerRoom.Share within = reader(room, "within", SIZE);
        AnswerRoom.Share beyond = reader(room, "beyond", SIZE);
        AnswerRoom.Share first = reader(room, "first", SIZE);
        reader(room, "second", SIZE);
        assertThat(going).containsExactly("within", "beyond");
        assertThat(room.waiting()).isEqualTo(2);

        beyond.give();
        assertThat(going).containsExactly("within", "beyond", "first");

        within.give();
        first.give();
        assertThat(going).containsExactly("within", "beyond", "first", "second");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void aSmallMessageNeitherWaitsNorTakesRoom() {
        AnswerRoom room = new AnswerRoom(0, LONG);
        reader(room, "beyond", SIZE);
        reader(room, "first", SIZE);

        reader(room, "small", AnswerRoom.FREE);

        assertThat(going).containsExactly("beyond", "small");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void oneThatGrowsTakesWhatItHasMore() {
        AnswerRoom room = new AnswerRoom(10 * COST, LONG);
        AnswerRoom.Share share = reader(room, "one", SIZE);

        share.hold(3 * SIZE, () -> going.add("more"));

        assertThat(going).containsExactly("one", "more");
        assertThat(room.taken()).isEqualTo(3 * COST);
    }

    @Test
    void oneThatIsClosedGoesOnNoMoreAndStopsNobody() {
        AnswerRoom room = new AnswerRoom(0, LONG);
        AnswerRoom.Share beyond = reader(room, "beyond", SIZE);
        AnswerRoom.Share first = reader(room, "first", SIZE);
        reader(room, "second", SIZE);

        first.close();
        beyond.close();
        beyond.hold(SIZE, () -> going.add("again"));

        assertThat(going).containsExactly("beyond", "second");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void oneBeyondTheLimitThatIsNotFinishedIsGivenUpForTheFirstThatWaits() {
        AnswerRoom room = new AnswerRoom(0, SHORT);
        reader(room, "beyond", SIZE);
        assertThat(late).isNotDone();

        reader(room, "first", SIZE);

        assertThat(now(late)).isEqualTo("beyond");
        Eventually.await(() -> going.size() == 2, going::toString);
        assertThat(going).containsExactly("beyond", "first");
    }

    @Test
    void oneThatIsBeingPassedOnIsNotGivenUp() {
        AnswerRoom room = new AnswerRoom(0, SHORT);
        AnswerRoom.Share beyond = reader(room, "beyond", SIZE);
        beyond.passing();
        reader(room, "first", SIZE);
        LockSupport.parkNanos(5 * SHORT.toNanos());
        assertThat(late).isNotDone();

        beyond.give();

        assertThat(going).containsExactly("beyond", "first");
    }
}
