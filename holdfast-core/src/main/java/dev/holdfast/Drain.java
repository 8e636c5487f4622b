package dev.holdfast;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * The end of an engine as an ordered story: no new work, running calls end or run out of time and get an error, clients that
 * are on their way back get their responses, every connection ends in order, every session ends, every backend is gone.
 */
final class Drain {
    private static final long POLL_MILLIS = 10;
    private static final long DELIVERY_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long CONNECTIONS_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long BACKENDS_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final SessionEngine engine;
    private final AtomicInteger sessions = new AtomicInteger();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger closing = new AtomicInteger();
    private final AtomicBoolean begun = new AtomicBoolean();
    private volatile boolean handingOver;
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    Drain(SessionEngine engine) {
        this.engine = engine;
    }

    void sessionBegun() {
        sessions.incrementAndGet();
    }

    void sessionEnded() {
        sessions.decrementAndGet();
    }

    int running() {
        return running.get();
    }

    /** So many more requests run, or fewer. */
    void running(int more) {
        running.addAndGet(more);
    }

    void closing(CompletionStage<Void> backend) {
        closing.incrementAndGet();
        backend.whenComplete((gone, failure) -> closing.decrementAndGet());
    }

    boolean begun() {
        return begun.get();
    }

    /** Whether connections are sent to the successor. */
    boolean handingOver() {
        return handingOver;
    }

    CompletionStage<Void> begin(Duration timeout) {
        if (begun.compareAndSet(false, true)) {
            long deadline = engine.now() + timeout.toNanos();
            await(() -> running.get() == 0, deadline, () -> deliver(deadline));
        }
        return done;
    }

    /** A client whose connection broke just now is on its way back for its response. */
    private void deliver(long deadline) {
        long patience = Math.min(deadline - engine.now(), DELIVERY_NANOS);
        await(this::everythingDelivered, engine.now() + patience, this::endConnections);
    }

    private boolean everythingDelivered() {
        for (LiveSession session : engine.all()) {
            if (!session.lifecycle().state().closed() && session.owesResponses()) {
                return false;
            }
        }
        return true;
    }

    private void endConnections() {
        handingOver = true;
        engine.all().forEach(session -> session.ending().handOver());
        await(this::nobodyReads, engine.now() + CONNECTIONS_NANOS, this::endSessions);
    }

    private boolean nobodyReads() {
        for (LiveSession session : engine.all()) {
            if (session.lifecycle().state().readers() > 0) {
                return false;
            }
        }
        return true;
    }

    /** Sessions that are being opened end themselves when they are. */
    private boolean nothingIsLeft() {
        return sessions.get() == 0 && closing.get() == 0;
    }

    private void endSessions() {
        engine.all().forEach(session -> session.ending().drain());
        await(this::nothingIsLeft, engine.now() + BACKENDS_NANOS, () -> done.complete(null));
    }

    /** Goes on when the condition holds, or at the deadline. */
    private void await(BooleanSupplier condition, long deadline, Runnable next) {
        if (condition.getAsBoolean() || engine.now() - deadline >= 0) {
            next.run();
        } else {
            engine.later(() -> await(condition, deadline, next), POLL_MILLIS);
        }
    }
}
