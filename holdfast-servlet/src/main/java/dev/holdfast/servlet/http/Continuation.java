package dev.holdfast.servlet.http;

import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is done with a request when a stage completes. Whatever fails, the request is answered here.
 *
 * @param id the request in the body, if it is known, for an error response
 * @param then takes the value
 * @param orphaned takes the value where the client has left meanwhile or the container has no thread, and returns whether the
 *     work goes on without the request
 */
record Continuation<T>(
        HttpServletRequest request, Answer answer, Optional<RequestId> id, Consumer<T> then, Predicate<T> orphaned) {
    private static final Logger log = LoggerFactory.getLogger(Continuation.class);

    /**
     * Goes on when the stage is complete: at once if it is, else on a thread of the container, for what follows may run a handler,
     * and the stage may be completed by a thread of the store or the engine.
     */
    void after(CompletableFuture<T> future) {
        if (future.isDone()) {
            if (future.isCompletedExceptionally()) {
                future.whenComplete(this::proceed);
            } else {
                try {
                    then.accept(future.join());
                } catch (Throwable e) {
                    answer.fail(id, e);
                }
            }
            return;
        }
        answer.defer();
        future.whenComplete((value, failure) -> {
            try {
                request.getAsyncContext().start(() -> proceed(value, failure));
            } catch (Throwable fault) {
                guarded(() -> withoutThread(value, failure, fault));
            }
        });
    }

    private void proceed(T value, @Nullable Throwable failure) {
        if (failure == null) {
            guarded(() -> then.accept(value));
        } else if (unavailable(failure)) {
            guarded(() -> answer.reply(Rejection.of(Refusal.STORE).to(id)));
        } else {
            answer.fail(id, failure);
        }
    }

    private void withoutThread(T value, @Nullable Throwable failure, Throwable fault) {
        boolean goesOn = failure == null && orphaned.test(value);
        if (fault instanceof RejectedExecutionException && !goesOn) {
            answer.reply(Rejection.of(Refusal.DRAINING).to(id));
        } else if (fault instanceof IllegalStateException) {
            log.debug("a client has left: {}", fault.toString());
        } else {
            answer.fail(id, fault);
        }
    }

    private void guarded(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) {
            answer.fail(id, e);
        }
    }

    private static boolean unavailable(Throwable failure) {
        return failure instanceof StoreUnavailableException || failure.getCause() instanceof StoreUnavailableException;
    }
}
