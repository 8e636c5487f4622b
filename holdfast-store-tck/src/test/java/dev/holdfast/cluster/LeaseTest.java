package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What the log says of a bus that fails. */
class LeaseTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger(Lease.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicInteger names = new AtomicInteger();
    private final FailingBus bus = new FailingBus();
    private final Lease lease = new Lease(
            bus, Duration.ofSeconds(3), nanos::get, () -> "node-" + names.incrementAndGet(), new Lease.Hearer() {
                @Override
                public void message(byte[] message) {}

                @Override
                public void lost() {}

                @Override
                public void busWorks(boolean works) {}
            });

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
            nanos.addAndGet(Duration.ofMillis(500).toNanos());
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
                        "INFO this node is node-1",
                        "WARN the lease of node-1 could not be renewed: java.lang.IllegalStateException: READONLY",
                        "INFO the lease of node-1 is renewed again");
    }

    @Test
    void whyThereIsNoLeaseIsToldOnce() {
        bus.fails = true;
        ticks(3);
        bus.fails = false;
        ticks(2);
        assertThat(lines())
                .containsExactly(
                        "WARN no lease for node-1: java.lang.IllegalStateException: READONLY",
                        "INFO this node is node-4");
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
                .startsWith("WARN other nodes wait until the lease of node-1 has lapsed");
    }
}
