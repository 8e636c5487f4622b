package dev.holdfast;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who may read on of those whose messages are large. */
@Timeout(30)
class ByteBudgetTest {
    private static final int COPIES = 3;
    private static final int SIZE = 2 * ByteBudget.FREE;
    private static final long COST = (long) COPIES * SIZE;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(50);

    private final List<String> going = new CopyOnWriteArrayList<>();
    private final CompletableFuture<String> late = new CompletableFuture<>();

    private ByteBudget.Reader reader(ByteBudget room, String name, int size) {
        ByteBudget.Reader share = room.reader(COPIES, Runnable::run, cause -> late.complete(name + " " + cause));
        share.hold(size, () -> going.add(name));
        return share;
    }

    private void awaitGoing(int count) {
        while (going.size() < count) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Test
    void thoseWhoWaitAreServedInOrderAndOneOfThemBeyondTheLimit() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, COST, LONG);
        ByteBudget.Reader within = reader(room, "within", SIZE);
        ByteBudget.Reader beyond = reader(room, "beyond", SIZE);
        ByteBudget.Reader first = reader(room, "first", SIZE);
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
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        reader(room, "beyond", SIZE);
        reader(room, "first", SIZE);

        reader(room, "small", ByteBudget.FREE);

        assertThat(going).containsExactly("beyond", "small");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void oneThatGrowsTakesWhatItHasMore() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 10 * COST, LONG);
        ByteBudget.Reader share = reader(room, "one", SIZE);

        share.hold(3 * SIZE, () -> going.add("more"));

        assertThat(going).containsExactly("one", "more");
        assertThat(room.taken()).isEqualTo(3 * COST);
    }

    @Test
    void oneThatIsClosedGoesOnNoMoreAndStopsNobody() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        ByteBudget.Reader beyond = reader(room, "beyond", SIZE);
        ByteBudget.Reader first = reader(room, "first", SIZE);
        reader(room, "second", SIZE);

        first.close();
        beyond.close();
        beyond.hold(SIZE, () -> going.add("again"));

        assertThat(going).containsExactly("beyond", "second");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void oneBeyondTheLimitThatIsNotFinishedIsGivenUpForTheFirstThatWaits() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, SHORT);
        reader(room, "beyond", SIZE);
        assertThat(late).isNotDone();

        reader(room, "first", SIZE);

        assertThat(late.join()).isEqualTo("beyond did not finish a large message while others waited for room");
        awaitGoing(2);
        assertThat(going).containsExactly("beyond", "first");
    }

    @Test
    void oneThatIsBeingPassedOnIsNotGivenUp() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, SHORT);
        ByteBudget.Reader beyond = reader(room, "beyond", SIZE);
        beyond.passing();
        reader(room, "first", SIZE);
        LockSupport.parkNanos(5 * SHORT.toNanos());
        assertThat(late).isNotDone();

        beyond.give();

        assertThat(going).containsExactly("beyond", "first");
    }

    @Test
    void oneBeyondTheRoomForMessagesWaitsUntilOthersTakeLessOfTheBudget() {
        ByteBudget room = new ByteBudget(10 * COST, COST, LONG);
        AtomicLong history = new AtomicLong(4 * COST);
        AtomicLong requests = new AtomicLong(4 * COST);
        room.count(history, history::get);
        room.count(requests, requests::get);
        reader(room, "within", SIZE);
        reader(room, "beyond", SIZE).hold(2 * SIZE, () -> going.add("more"));
        assertThat(going).containsExactly("within", "beyond");
        assertThat(room.fits(1)).isFalse();

        requests.set(0);

        awaitGoing(3);
        assertThat(going).containsExactly("within", "beyond", "more");
        assertThat(room.taken()).isEqualTo(7 * COST);
    }

    @Test
    void oneThatFindsNoRoomAtAllIsGivenUpInTheEnd() {
        ByteBudget room = new ByteBudget(COST, COST / 2, SHORT);

        reader(room, "large", 2 * SIZE);

        assertThat(late.join())
                .isEqualTo("large sent a large message for which there was no room: give the JVM a larger heap");
        assertThat(room.waiting()).isZero();
        reader(room, "small", SIZE);
        assertThat(going).containsExactly("small");
    }

    @Test
    void largeRequestsLeaveRoomForAMessageAndSmallOnesFindIt() {
        ByteBudget room = new ByteBudget(10 * COST, 2 * COST, LONG);
        Quota requests = new Quota(4 * COST, 100, Refusal.BODY_ROOM, room);
        room.count(room, () -> 4 * COST);
        reader(room, "message", SIZE);

        assertThat(requests.takeLarge("", 3 * COST)).isEmpty();
        assertThat(requests.take("", COST)).isEmpty();
        assertThat(requests.takeLarge("", 1)).contains(Refusal.BODY_ROOM);
        assertThat(requests.taken()).isEqualTo(4 * COST);
        reader(room, "other", SIZE);
        assertThat(going).containsExactly("message", "other");
        assertThat(room.fits(1)).isFalse();
    }

    @Test
    void oneWhoseExecutorHasEndedGivesItsRoomBackAndStopsNobody() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        ByteBudget.Reader beyond = reader(room, "beyond", SIZE);
        ByteBudget.Reader ended = room.reader(COPIES, ByteBudgetTest::reject, cause -> {});
        ended.hold(SIZE, () -> going.add("ended"));
        reader(room, "next", SIZE);

        beyond.give();

        assertThat(going).containsExactly("beyond", "next");
        assertThat(room.taken()).isEqualTo(COST);
    }

    @Test
    void oneThatCannotBeToldThatItIsGivenUpStopsNobody() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, SHORT);
        AtomicBoolean over = new AtomicBoolean();
        Executor executor = work -> {
            if (over.get()) {
                reject(work);
            }
            work.run();
        };
        room.reader(COPIES, executor, cause -> {}).hold(SIZE, () -> going.add("ended"));
        over.set(true);

        reader(room, "next", SIZE);

        awaitGoing(2);
        assertThat(going).containsExactly("ended", "next");
    }

    private static void reject(Runnable work) {
        throw new RejectedExecutionException("ended");
    }
}
