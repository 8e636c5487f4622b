package dev.holdfast.cluster;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.session.StoreQuestion;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right of this node to write: the lease of its present incarnation, by the node's own monotonic clock, which counts from the
 * moment at which a renewal was asked for, so that it runs out here before it does on the bus. A node without a lease begins again, as
 * another incarnation. {@link #tick} is called by the thread that does the engine's timed work: a node whose work stands still lets
 * its lease lapse.
 */
final class Lease {
    private static final Logger logger = LoggerFactory.getLogger(Lease.class);

    /** Who hears of it; called outside of locks. */
    interface Hearer {
        /** A message for the present incarnation. */
        void message(byte[] message);

        /** The present incarnation has no lease any more. */
        void lost();

        /** Whether the bus has answered. */
        void busWorks(boolean works);
    }

    private final ClusterBus bus;
    private final Duration length;
    private final LongSupplier clock;
    private final Supplier<String> names;
    private final Hearer hearer;
    /** Whether it was told that the bus fails, which it does each tick then. */
    private final AtomicBoolean failing = new AtomicBoolean();

    /** What the bus has said of the first incarnation. */
    private final CompletableFuture<Void> first = new CompletableFuture<>();

    private final AtomicReference<State> state = new AtomicReference<>(new Without(false));

    private sealed interface State {}

    /**
     * There is none.
     *
     * @param beginning whether one is on its way
     */
    private record Without(boolean beginning) implements State {}

    /** An incarnation that may write until its lease runs out. */
    private static final class Held implements State {
        private final String node;
        private final ClusterBus.Inbox inbox;
        private volatile long until;

        private Held(String node, ClusterBus.Inbox inbox, long until) {
            this.node = node;
            this.inbox = inbox;
            this.until = until;
        }
    }

    /** There will be none any more. */
    private record Ended() implements State {}

    /**
     * @param names gives each incarnation a name that no other has
     */
    Lease(ClusterBus bus, Duration length, LongSupplier clock, Supplier<String> names, Hearer hearer) {
        this.bus = bus;
        this.length = length;
        this.clock = clock;
        this.names = names;
        this.hearer = hearer;
    }

    private @Nullable Held held() {
        return state.get() instanceof Held held && clock.getAsLong() - held.until < 0 ? held : null;
    }

    /** Whether some incarnation of this node may write now. */
    boolean present() {
        return held() != null;
    }

    /** Whether this incarnation may write now. */
    boolean held(String node) {
        Held now = held();
        return now != null && now.node.equals(node);
    }

    /** The incarnation that may write now; fails where there is none. */
    String node() {
        Held now = held();
        if (now == null) {
            throw new StoreUnavailableException(new IllegalStateException("this node has no lease"));
        }
        return now.node;
    }

    /** The incarnation that may write; while the first is on its way, it is waited for. */
    CompletionStage<String> firstOrPresent() {
        return first.thenApply(answered -> node());
    }

    /** Renews the lease, or begins one. */
    void tick() {
        State now = state.get();
        if (now instanceof Held held) {
            if (clock.getAsLong() - held.until >= 0) {
                lose(held);
            } else {
                renew(held);
            }
        } else if (now instanceof Without without && !without.beginning) {
            begin(without);
        }
    }

    private void begin(Without none) {
        String node = names.get();
        Without beginning = new Without(true);
        if (!state.compareAndSet(none, beginning)) {
            return;
        }
        long asked = clock.getAsLong();
        StoreQuestion.asked(() -> bus.begin(node, length).thenApply(begun -> held(node, asked)))
                .whenComplete((held, failure) -> {
                    if (failure != null) {
                        tellFailure("no lease for {}: {}", node, failure);
                        state.compareAndSet(beginning, new Without(false));
                        hearer.busWorks(false);
                        first.complete(null);
                        return;
                    }
                    if (state.compareAndSet(beginning, held)) {
                        logger.info("this node is {}", node);
                        failing.set(false);
                        hearer.busWorks(true);
                    } else {
                        letGo(held);
                    }
                    first.complete(null);
                });
    }

    private Held held(String node, long asked) {
        return new Held(node, bus.receive(node, hearer::message), asked + length.toNanos());
    }

    private void renew(Held held) {
        long asked = clock.getAsLong();
        StoreQuestion.asked(() -> bus.renew(held.node, length)).whenComplete((renewed, failure) -> {
            hearer.busWorks(failure == null);
            if (failure != null) {
                tellFailure("the lease of {} could not be renewed: {}", held.node, failure);
            } else if (renewed) {
                held.until = asked + length.toNanos();
                tellSuccess(held);
            } else {
                lose(held);
            }
        });
    }

    private void tellFailure(String what, String node, Throwable failure) {
        if (!(state.get() instanceof Ended) && failing.compareAndSet(false, true)) {
            logger.warn(what, node, String.valueOf(LastingQuestions.causeOf(failure)));
        }
    }

    private void tellSuccess(Held held) {
        if (failing.compareAndSet(true, false)) {
            logger.info("the lease of {} is renewed again", held.node);
        }
    }

    private void lose(Held held) {
        Without none = new Without(false);
        if (!state.compareAndSet(held, none)) {
            return;
        }
        logger.warn("the lease of {} has lapsed: its clients are sent away, and it begins again", held.node);
        held.inbox.close();
        hearer.lost();
        begin(none);
    }

    /** Lets go of it: other nodes need not wait until it has lapsed. Never fails: where they do not learn of it, it lapses. */
    CompletionStage<Void> end() {
        State last = state.getAndSet(new Ended());
        first.complete(null);
        return last instanceof Held held ? letGo(held) : CompletableFuture.completedFuture(null);
    }

    private CompletionStage<Void> letGo(Held held) {
        held.inbox.close();
        CompletableFuture<Void> done = new CompletableFuture<>();
        StoreQuestion.asked(() -> bus.end(held.node)).whenComplete((ended, failure) -> {
            if (failure != null) {
                logger.warn("other nodes wait until the lease of {} has lapsed: {}", held.node, failure.toString());
            }
            done.complete(null);
        });
        return done;
    }
}
