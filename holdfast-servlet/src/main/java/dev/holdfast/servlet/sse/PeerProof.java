package dev.holdfast.servlet.sse;

import dev.holdfast.servlet.io.EdgeClock;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Finds out by the writes of one connection whether its peer is still there. One completed write says nothing: the first one to a
 * peer that is gone always completes. A second one, begun at least 100 ms later and completed too, says that the peer was there at
 * the time of the first, or its reset would have arrived. A container may report a failed write late, by callback; so the answer
 * waits 10 ms more.
 *
 * <p>{@link #wrote} is for the holder of the pump, the rest for any thread.
 */
public final class PeerProof {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long APART_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long CALLBACK_MILLIS = 10;

    private final EdgeClock clock;
    private final Runnable onGone;
    private final AtomicReference<@Nullable Question> asked = new AtomicReference<>();
    private boolean anchored;
    private long anchor;
    private volatile boolean proven;
    private volatile long provenAt;
    private volatile boolean gone;

    /** A question whether the peer is there, and when it was asked. */
    private static final class Question {
        private final long since;
        private final CompletableFuture<Boolean> answer = new CompletableFuture<>();
        private boolean anchored;
        private long anchor;

        private Question(long since) {
            this.since = since;
        }
    }

    /**
     * @param onGone runs when the connection has ended, before its reader learns of it
     */
    public PeerProof(EdgeClock clock, Runnable onGone) {
        this.clock = clock;
        this.onGone = onGone;
    }

    /** Whether the peer is there: known at once if it was seen just now, else found out by the next two writes. */
    public CompletionStage<Boolean> ask() {
        long now = clock.now();
        if (proven && now - provenAt <= FRESH_NANOS) {
            return CompletableFuture.completedFuture(!gone);
        }
        Question mine = new Question(now);
        Question open = asked.get();
        while (open == null && !asked.compareAndSet(null, mine)) {
            open = asked.get();
        }
        Question question = open == null ? mine : open;
        if (gone) {
            question.answer.complete(false);
        }
        return question.answer;
    }

    /** Whether a question is open, so that two writes are needed. */
    boolean wanted() {
        return asked.get() != null;
    }

    /** A write was completed. */
    void wrote(long began, long completed) {
        if (anchored && began - anchor >= APART_NANOS) {
            provenAt = anchor;
            proven = true;
            anchored = false;
        }
        if (!anchored) {
            anchored = true;
            anchor = completed;
        }
        Question question = asked.get();
        if (question == null || began - question.since < 0) {
            return;
        }
        if (!question.anchored) {
            question.anchored = true;
            question.anchor = completed;
        } else if (began - question.anchor >= APART_NANOS) {
            clock.later(() -> there(question), CALLBACK_MILLIS);
        }
    }

    /** The peer takes no more bytes: it counts as alive. */
    void stuck() {
        Question question = asked.get();
        if (question != null) {
            there(question);
        }
    }

    private void there(Question question) {
        asked.compareAndSet(question, null);
        question.answer.complete(!gone);
    }

    /** The connection has ended. */
    void gone() {
        gone = true;
        onGone.run();
        Question question = asked.getAndSet(null);
        if (question != null) {
            question.answer.complete(false);
        }
    }
}
