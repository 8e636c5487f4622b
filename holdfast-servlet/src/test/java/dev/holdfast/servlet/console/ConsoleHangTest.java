package dev.holdfast.servlet.console;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.console.Console.Server;
import dev.holdfast.servlet.console.Console.Viewer;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A console whose servers cannot be looked at, as while a disk hangs. */
@Timeout(60)
class ConsoleHangTest {
    private static final int POLLS = 50;
    private static final Viewer OPERATOR = new Viewer("", true);

    private final AtomicLong clock = new AtomicLong();
    private final Semaphore looks = new Semaphore(0);
    private final Semaphore begun = new Semaphore(0);
    private final Console console = new Console(
            this::servers,
            viewer -> Map.of(),
            new ConsoleFeed(InstantSource.system()),
            InstantSource.system(),
            clock::get);

    private List<Server> servers() {
        begun.release();
        looks.acquireUninterruptibly();
        return List.of();
    }

    @AfterEach
    void letAllEnd() {
        looks.release(POLLS);
    }

    private CompletableFuture<Optional<String>> hanging() throws InterruptedException {
        CompletableFuture<Optional<String>> poll =
                CompletableFuture.supplyAsync(() -> console.data(OPERATOR, Map.of()));
        assertThat(begun.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
        return poll;
    }

    @Test
    void whileOneLooksOthersGetWhatWasFoundBefore() throws Exception {
        looks.release();
        assertThat(console.data(OPERATOR, Map.of())).isPresent();
        begun.drainPermits();
        clock.addAndGet(TimeUnit.SECONDS.toNanos(3));
        CompletableFuture<Optional<String>> first = hanging();

        for (int i = 0; i < POLLS; i++) {
            assertThat(console.data(OPERATOR, Map.of()))
                    .hasValueSatisfying(data -> assertThat(data).contains("\"servers\":[]", "\"old\":3"));
        }

        assertThat(first).isNotDone();
        assertThat(begun.availablePermits()).isZero();
        looks.release();
        assertThat(first.get(20, TimeUnit.SECONDS))
                .hasValueSatisfying(data -> assertThat(data).contains("\"old\":0"));
    }

    @Test
    void whatALookFoundThatHungCountsForAMinute() throws Exception {
        CompletableFuture<Optional<String>> first = hanging();
        clock.addAndGet(TimeUnit.MINUTES.toNanos(10));
        looks.release(2);
        assertThat(first.get(20, TimeUnit.SECONDS)).isPresent();

        clock.addAndGet(TimeUnit.SECONDS.toNanos(59));
        assertThat(console.data(OPERATOR, Map.of())).isPresent();
        assertThat(begun.availablePermits()).isZero();

        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(console.data(OPERATOR, Map.of())).isPresent();
        assertThat(begun.availablePermits()).isOne();
    }

    @Test
    void whereNothingWasFoundYetNobodyWaitsForLong() throws Exception {
        CompletableFuture<Optional<String>> first = hanging();

        assertThat(console.data(OPERATOR, Map.of())).isEmpty();

        looks.release();
        assertThat(first.get(20, TimeUnit.SECONDS)).isPresent();
        assertThat(console.data(OPERATOR, Map.of())).isPresent();
    }
}
