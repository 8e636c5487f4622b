package dev.holdfast.engine;

import dev.holdfast.log.EngineClock;
import dev.holdfast.session.Lifecycle;
import dev.holdfast.session.LiveSession;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of an engine as an ordered story: no new work, running calls end or run out of time and get an error, clients that
 * are on their way back get their responses, every connection ends in order, every session ends, every backend is gone.
 */
final class Drain {
    private static final Logger log = LoggerFactory.getLogger(Drain.class);
    private static final long POLL_MILLIS = 10;
    /** Longer than any process lives, and short enough to add to a clock reading. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    private static final long DELIVERY_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long CONNECTIONS_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long BACKENDS_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LiveSessions live;
    private final EngineClock clock;
    private final ScheduledExecutorService scheduler;
    private final AtomicBoolean begun = new AtomicBoolean();
    /** The sessions that leave before the others, and until when their connections may end in order. */
    private final Map<LiveSession, Long> leaving = new ConcurrentHashMap<>();

    private volatile boolean handingOver;
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    Drain(LiveSessions live, EngineClock clock, ScheduledExecutorService scheduler) {
        this.live = live;
        this.clock = clock;
        this.scheduler = scheduler;
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
            Duration most = timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST;
            Duration wait = most.isNegative() ? Duration.ZERO : most;
            long deadline = clock.now() + wait.toNanos();
            tell("waits up to " + EngineClock.text(wait) + " for");
            await(this::callsAreOver, deadline, () -> {
                tell("did not wait any longer for");
                deliver(deadline);
            });
        }
        return done;
    }

    private boolean callsAreOver() {
        live.all().forEach(this::letGo);
        return running() == 0;
    }

    private void tell(String what) {
        int running = running();
        if (running > 0) {
            log.info("draining: {} {} running calls", what, running);
        }
    }

    /** How many calls are not over; one on its way to another node is in both counts. */
    private int running() {
        return Math.max(live.running(), live.forwarded());
    }

    /** A session for which other nodes wait leaves when its own calls are over. */
    private void letGo(LiveSession session) {
        Lifecycle.State state = session.lifecycle().state();
        if (state.running() > 0 || state.closed() || !session.end().awaited()) {
            return;
        }
        long now = clock.now();
        Long until = leaving.putIfAbsent(session, now + CONNECTIONS_NANOS);
        if (until == null) {
            session.end().handOver();
        } else if (state.readers() == 0 || now - until >= 0) {
            session.end().leave(state);
        }
    }

    /** A client whose connection broke just now is on its way back for its response. */
    private void deliver(long deadline) {
        long wait = Math.min(deadline - clock.now(), DELIVERY_NANOS);
        await(this::everythingDelivered, clock.now() + wait, this::endConnections);
    }

    private boolean everythingDelivered() {
        live.all().forEach(this::letGo);
        for (LiveSession session : live.all()) {
            if (!session.lifecycle().state().closed() && session.owesResponses()) {
                return false;
            }
        }
        return true;
    }

    private void endConnections() {
        handingOver = true;
        live.all().forEach(session -> session.end().handOver());
        await(() -> live.forwarded() == 0 && nobodyReads(), clock.now() + CONNECTIONS_NANOS, this::endSessions);
    }

    private boolean nobodyReads() {
        for (LiveSession session : live.all()) {
            if (session.lifecycle().state().readers() > 0) {
                return false;
            }
        }
        return true;
    }

    /** Sessions that are being opened end themselves when they are. */
    private void endSessions() {
        live.all().forEach(session -> session.end().drain());
        await(live::nothingIsLeft, clock.now() + BACKENDS_NANOS, () -> done.complete(null));
    }

    /** Goes on when the condition holds, or at the deadline. */
    private void await(BooleanSupplier condition, long deadline, Runnable next) {
        if (condition.getAsBoolean() || clock.now() - deadline >= 0 || !later(() -> await(condition, deadline, next))) {
            next.run();
        }
    }

    /** Has something done in a moment; false where the scheduler has ended, and nothing can be waited for any more. */
    private boolean later(Runnable task) {
        try {
            Future<?> unused = scheduler.schedule(task, POLL_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (RejectedExecutionException e) {
            log.warn("the engine ends without waiting for its sessions: its scheduler was shut down before it");
            log.debug("the scheduler takes nothing", e);
            return false;
        }
    }
}
