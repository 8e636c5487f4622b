package dev.holdfast.cluster;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.StoreQuestion.UnreadableException;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Questions to the store that are asked until it has answered, as long as the incarnation that asks has its lease. */
final class LastingQuestions {
    private static final long FIRST_DELAY_MILLIS = 20;
    private static final long MOST_DELAY_MILLIS = 250;

    /** Whoever waits should know when a question has failed for so long. */
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final Lease lease;
    private final LongSupplier clock;
    private final Later later;
    private final Consumer<Boolean> works;
    private final Set<Question<?>> open = ConcurrentHashMap.newKeySet();

    /** Does something later. */
    interface Later {
        void run(Runnable task, long millis);
    }

    /**
     * @param clock the monotonic clock, in nanoseconds
     * @param works learns whether the store has answered
     */
    LastingQuestions(Lease lease, LongSupplier clock, Later later, Consumer<Boolean> works) {
        this.lease = lease;
        this.clock = clock;
        this.later = later;
        this.works = works;
    }

    /**
     * Asks.
     *
     * @param lasts told why, each time that the store fails the question 3 s after it first did
     * @return fails as the store has decided, or with a {@link StoreUnavailableException} when the lease is lost
     */
    <T> CompletionStage<T> ask(String node, Supplier<CompletionStage<T>> question, Consumer<Throwable> lasts) {
        Question<T> asked = new Question<>(node, question, lasts);
        open.add(asked);
        asked.ask(FIRST_DELAY_MILLIS);
        return asked.done;
    }

    /** Whether the store has failed a question that waits for its answer. */
    boolean unanswered() {
        return open.stream().anyMatch(question -> question.hasFailed);
    }

    /** The lease is lost: nobody waits any longer for what the store has not decided. */
    void giveUp() {
        open.forEach(Question::giveUp);
    }

    /** One of them. */
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
            if (!lease.held(node)) {
                giveUp();
                return;
            }
            StoreQuestion.asked(question).whenComplete((answer, failure) -> answered(answer, causeOf(failure), delay));
        }

        private void answered(T answer, @Nullable Throwable failure, long delay) {
            if (failure == null) {
                // before the word that the store works: nobody may find it open after that
                open.remove(this);
                works.accept(true);
                done.complete(answer);
            } else if (isDecided(failure)) {
                open.remove(this);
                if (saidByStore(failure)) {
                    works.accept(true);
                }
                done.completeExceptionally(failure);
            } else if (!done.isDone()) {
                long now = clock.getAsLong();
                if (!hasFailed) {
                    failedAt = now;
                    hasFailed = true;
                }
                boolean tooLong = now - failedAt >= LASTING_NANOS;
                works.accept(false);
                later.run(() -> ask(Math.min(2 * delay, MOST_DELAY_MILLIS)), delay);
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

    /** Whether the store never takes what it was given, for its size. */
    static boolean isTooLarge(@Nullable Throwable failure) {
        Throwable cause = failure;
        while (cause != null && !(cause instanceof TooLargeException)) {
            cause = cause.getCause();
        }
        return cause != null;
    }

    /** Why a stage has failed, without what a stage that depends on another one wraps it in. */
    static @Nullable Throwable causeOf(@Nullable Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }
}
