package dev.holdfast.cluster;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right of this node to write: the lease of its present incarnation, by the node's own monotonic clock, which counts from the
 * moment at which a renewal was asked for, so that it runs out here before it does on the bus. A node without a lease begins again, as
 * another incarnation. {@link #tick} is called by the thread that does the engine's timed work: a node whose work stands still lets
 * its lease lapse. What the store has to decide is asked until it has answered, or the lease of whoever asks is lost. The engine hears
 * whether bus and store answer.
 */
final class Lease {
    private static final Logger logger = LoggerFactory.getLogger(Lease.class);

    private static final long FIRST_DELAY_MILLIS = 20;
    private static final long MOST_DELAY_MILLIS = 250;

    /** Whoever waits should know when a question has failed for so long. */
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final ClusterBus bus;
    private final ClusterMembership.Host engine;
    private final ClusterMembership.Setting setting;
    private final Consumer<byte[]> inbox;
    private final Runnable lost;
    /** Whether it was told that the bus fails, which it does each tick then. */
    private final AtomicBoolean failing = new AtomicBoolean();

    /** What the bus has said of the first incarnation. */
    private final CompletableFuture<Void> first = new CompletableFuture<>();

    private final AtomicReference<State> state = new AtomicReference<>(new Without(false));
    private final Set<Question<?>> open = ConcurrentHashMap.newKeySet();

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
     * @param inbox gets each message for the present incarnation
     * @param lost told, outside of locks, that the present incarnation has no lease any more
     */
    Lease(ClusterBus bus, ClusterMembership.Host engine, Consumer<byte[]> inbox, Runnable lost) {
        this.bus = bus;
        this.engine = engine;
        this.setting = engine.setting();
        this.inbox = inbox;
        this.lost = lost;
        if (setting.lease().compareTo(bus.answersWithin()) <= 0) {
            throw new IllegalArgumentException("lease must be longer than the " + bus.answersWithin()
                    + " for which the store may not answer, got " + setting.lease()
                    + ": give the node a longer lease, or the store a shorter timeout");
        }
    }

    private long now() {
        return setting.clock().getAsLong();
    }

    private @Nullable Held held() {
        return state.get() instanceof Held held && now() - held.until < 0 ? held : null;
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
            if (now() - held.until >= 0) {
                lose(held);
            } else {
                renew(held);
            }
        } else if (now instanceof Without without && !without.beginning) {
            begin(without);
        }
    }

    private void begin(Without none) {
        String node = setting.name() + "-"
                + HexFormat.of().toHexDigits(setting.random().nextLong());
        Without beginning = new Without(true);
        if (!state.compareAndSet(none, beginning)) {
            return;
        }
        long asked = now();
        StoreQuestion.asked(() -> bus.begin(node, setting.lease()).thenApply(begun -> held(node, asked)))
                .whenComplete((held, failure) -> {
                    if (failure != null) {
                        tellFailure("no lease for {}: {}", node, failure);
                        state.compareAndSet(beginning, new Without(false));
                        works(false);
                        first.complete(null);
                        return;
                    }
                    if (state.compareAndSet(beginning, held)) {
                        logger.info("this node is {}", node);
                        failing.set(false);
                        works(true);
                    } else {
                        letGo(held);
                    }
                    first.complete(null);
                });
    }

    private Held held(String node, long asked) {
        return new Held(node, bus.receive(node, inbox), asked + setting.lease().toNanos());
    }

    private void renew(Held held) {
        long asked = now();
        StoreQuestion.asked(() -> bus.renew(held.node, setting.lease())).whenComplete((renewed, failure) -> {
            works(failure == null);
            if (failure != null) {
                tellFailure("the lease of {} could not be renewed: {}", held.node, failure);
            } else if (renewed) {
                held.until = asked + setting.lease().toNanos();
                tellSuccess(held);
            } else {
                lose(held);
            }
        });
    }

    /** A server without memory renews leases, and takes no commits. */
    private void works(boolean busWorks) {
        engine.storeWorks(busWorks && !unanswered());
        if (busWorks && !unanswered()) {
            engine.storeWorks(true); // the last answer may have come meanwhile
        }
    }

    private void tellFailure(String what, String node, Throwable failure) {
        if (!(state.get() instanceof Ended) && failing.compareAndSet(false, true)) {
            logger.warn(what, node, String.valueOf(StoreQuestion.causeOf(failure)));
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
        open.forEach(Question::giveUp);
        lost.run();
        begin(none);
    }

    /**
     * Asks until the store has answered, as long as an incarnation of this node has its lease.
     *
     * @return fails as the store has decided, or with a {@link StoreUnavailableException} when the lease is lost
     */
    <T> CompletionStage<T> insist(String node, Supplier<CompletionStage<T>> question) {
        return insist(node, question, failure -> {});
    }

    /**
     * The same.
     *
     * @param lasts told why, each time that the store fails the question 3 s after it first did
     */
    <T> CompletionStage<T> insist(String node, Supplier<CompletionStage<T>> question, Consumer<Throwable> lasts) {
        Question<T> asked = new Question<>(node, question, lasts);
        open.add(asked);
        asked.ask(FIRST_DELAY_MILLIS);
        return asked.done;
    }

    /** Whether the store has failed a question that waits for its answer. */
    boolean unanswered() {
        return open.stream().anyMatch(question -> question.hasFailed);
    }

    /** What is asked until it is answered. */
    private final class Question<T> {
        private final String node;
        private final Supplier<CompletionStage<T>> question;
        private final Consumer<Throwable> lasts;
        private final CompletableFuture<T> done = new CompletableFuture<>();

        private volatile boolean hasFailed;
        private long failedAt;

        private Question(String node, Supplier<CompletionStage<T>> question, Consumer<Throwable> lasts) {
            this.node = node;
            this.question = question;
            this.lasts = lasts;
        }

        private void giveUp() {
            open.remove(this);
            done.completeExceptionally(new StoreUnavailableException(new IllegalStateException("the lease was lost")));
        }

        private void ask(long delay) {
            if (!held(node)) {
                giveUp();
                return;
            }
            StoreQuestion.asked(question)
                    .whenComplete((answer, failure) -> answered(answer, StoreQuestion.causeOf(failure), delay));
        }

        private void answered(T answer, @Nullable Throwable failure, long delay) {
            if (failure == null) {
                // before the word that the store works: nobody may find it open after that
                open.remove(this);
                engine.storeWorks(true);
                done.complete(answer);
            } else if (isDecided(failure)) {
                open.remove(this);
                if (saidByStore(failure)) {
                    engine.storeWorks(true);
                }
                done.completeExceptionally(failure);
            } else if (!done.isDone()) {
                long now = now();
                if (!hasFailed) {
                    failedAt = now;
                    hasFailed = true;
                }
                boolean tooLong = now - failedAt >= LASTING_NANOS;
                engine.storeWorks(false);
                engine.later(() -> ask(Math.min(2 * delay, MOST_DELAY_MILLIS)), delay);
                if (tooLong) {
                    lasts.accept(failure);
                }
            }
        }

        /** Whether it will never be otherwise. */
        private static boolean isDecided(Throwable failure) {
            return saidByStore(failure) || unwrapped(failure) instanceof IllegalStateException;
        }

        /** Whether the store has answered; an illegal state may be found before it is asked. */
        private static boolean saidByStore(Throwable failure) {
            Throwable cause = unwrapped(failure);
            return cause instanceof StaleEpochException
                    || cause instanceof TooLargeException
                    || cause instanceof UnreadableSessionException
                    || cause instanceof UnreadableException;
        }

        private static @Nullable Throwable unwrapped(Throwable failure) {
            return failure instanceof StoreUnavailableException ? failure.getCause() : failure;
        }
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
