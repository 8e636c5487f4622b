package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StaleEpochException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What the log says of a bus that fails, and what the engine hears of a store that is asked again and again. */
class LeaseTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger(Lease.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final TestHost host = new TestHost();
    private final FailingBus bus = new FailingBus();
    private final Lease lease = new Lease(bus, host.engine, message -> {}, () -> {});
    private final Throwable full = new IllegalArgumentException("full");
    private final Deque<CompletableFuture<String>> answers = new ArrayDeque<>();

    /** One that nobody else is on. */
    private static final class FailingBus implements ClusterBus {
        private boolean fails;

        private <T> CompletionStage<T> answer(Supplier<T> value) {
            return fails
                    ? CompletableFuture.failedFuture(new IllegalStateException("READONLY"))
                    : CompletableFuture.completedFuture(value.get());
        }

        @Override
        public CompletionStage<Void> begin(String node, Duration length) {
            return answer(() -> null);
        }

        @Override
        public CompletionStage<Boolean> renew(String node, Duration length) {
            return answer(() -> true);
        }

        @Override
        public CompletionStage<Void> end(String node) {
            return answer(() -> null);
        }

        @Override
        public CompletionStage<Set<String>> living() {
            return answer(Set::of);
        }

        @Override
        public CompletionStage<Boolean> send(String node, byte[] message) {
            return answer(() -> false);
        }

        @Override
        public Inbox receive(String node, Consumer<byte[]> handler) {
            return () -> {};
        }
    }

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
        logger.setLevel(Level.INFO);
    }

    @AfterEach
    void close() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    private void ticks(int count) {
        for (int i = 0; i < count; i++) {
            host.passes(500, TimeUnit.MILLISECONDS);
            lease.tick();
        }
    }

    private List<String> lines() {
        return log.list.stream()
                .map(line -> line.getLevel() + " " + line.getFormattedMessage())
                .toList();
    }

    @Test
    void aBusThatFailsIsToldOnceAndSoIsItsReturn() {
        ticks(1);
        bus.fails = true;
        ticks(2);
        bus.fails = false;
        ticks(2);
        assertThat(lines())
                .containsExactly(
                        "INFO this node is " + TestHost.name(1),
                        "WARN the lease of " + TestHost.name(1)
                                + " could not be renewed: java.lang.IllegalStateException: READONLY",
                        "INFO the lease of " + TestHost.name(1) + " is renewed again");
    }

    @Test
    void whyThereIsNoLeaseIsToldOnce() {
        bus.fails = true;
        ticks(3);
        bus.fails = false;
        ticks(2);
        assertThat(lines())
                .containsExactly(
                        "WARN no lease for " + TestHost.name(1) + ": java.lang.IllegalStateException: READONLY",
                        "INFO this node is " + TestHost.name(4));
    }

    @Test
    void whatFailsAtTheEndIsNoFailureOfTheLease() {
        ticks(1);
        bus.fails = true;
        lease.end();
        ticks(2);
        assertThat(lines())
                .hasSize(2)
                .last()
                .asString()
                .startsWith("WARN other nodes wait until the lease of " + TestHost.name(1) + " has lapsed");
    }

    private String node() {
        ticks(1);
        host.told.clear();
        return lease.node();
    }

    private CompletableFuture<String> ask(CompletableFuture<String> first, CompletableFuture<String> then) {
        answers.addAll(List.of(first, then));
        return lease.insist(node(), answers::remove).toCompletableFuture();
    }

    /** Who looks at the same moment on another thread must not find it open after the last word. */
    @Test
    void aQuestionIsNotOpenAnyMoreWhenTheStoreIsSaidToWork() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.completedFuture("answer"));
        ticks(1);
        assertThat(host.told).containsExactly(false, false);
        assertThat(lease.unanswered()).isTrue();
        List<Boolean> open = new ArrayList<>();
        host.whenTold = () -> open.add(lease.unanswered());

        host.later.remove().run();
        assertThat(asked).isCompletedWithValue("answer");
        assertThat(open).containsExactly(false);
        ticks(1);
        assertThat(host.told).containsExactly(false, false, true, true, true);
    }

    @Test
    void aDecisionOfTheStoreAgainstTheQuestionIsAnAnswerToo() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.failedFuture(new StaleEpochException(new Epoch(1, 1), new Epoch(2, 2))));

        host.later.remove().run();

        assertThat(asked).isCompletedExceptionally();
        assertThat(host.told).containsExactly(false, true);
        assertThat(lease.unanswered()).isFalse();
    }

    @Test
    void whatTheNodeItselfHasDecidedIsNoWordOfTheStore() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.failedFuture(new IllegalStateException("the session has left this node")));

        host.later.remove().run();

        assertThat(asked).isCompletedExceptionally();
        assertThat(host.told).containsExactly(false);
        assertThat(lease.unanswered()).isFalse();
    }

    @Test
    void whoeverWaitsIsToldWhenItFailsForThreeSecondsAndNotAfterTheLeaseWasLost() {
        List<Throwable> told = new ArrayList<>();
        String node = node();
        CompletionStage<String> asked = lease.insist(node, () -> CompletableFuture.failedFuture(full), told::add);
        host.passes(2_500, TimeUnit.MILLISECONDS);
        lease.tick();
        host.passes(499, TimeUnit.MILLISECONDS);
        host.later.remove().run();
        assertThat(told).isEmpty();
        host.passes(1, TimeUnit.MILLISECONDS);
        host.later.remove().run();
        assertThat(told).containsExactly(full);
        host.later.remove().run();
        assertThat(told).containsExactly(full, full);

        CompletableFuture<String> late = new CompletableFuture<>();
        answers.add(late);
        CompletionStage<String> other = lease.insist(node, answers::remove, told::add);
        host.passes(3, TimeUnit.SECONDS);
        lease.tick();
        late.completeExceptionally(full);
        assertThat(List.of(asked, other)).allSatisfy(given -> assertThat(given).isCompletedExceptionally());
        assertThat(told).hasSize(2);
    }

    @Test
    void withoutALeaseNobodyWaitsForIt() {
        CompletableFuture<String> asked = ask(
                CompletableFuture.failedFuture(new IllegalArgumentException("away")),
                CompletableFuture.completedFuture("too late"));

        host.passes(3, TimeUnit.SECONDS);
        lease.tick();

        assertThat(asked).isCompletedExceptionally();
        assertThat(host.told).last().isEqualTo(true);
    }
}
