package dev.holdfast.session;

import dev.holdfast.Quota;
import dev.holdfast.SessionLimits;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a session needs of the node it lives on. Safe for use by any thread. What answers at once is called under the session's lock too;
 * what returns a stage, does something later or elsewhere, makes room, or lets a session go is not.
 */
public abstract class SessionHost {
    private static final Logger logger = LoggerFactory.getLogger(SessionHost.class);

    /** What deadlines follow. */
    public final EngineClock clock;
    /** By which records are dated. */
    public final InstantSource wallClock;

    public final RandomGenerator random;
    public final Backend backend;
    /** How the few messages of the engine's own are written. */
    public final MessageFactory messages;

    public final SessionLimits limits;
    /** What the session's streams need. */
    public final StreamSetting streams;

    public final Telemetry telemetry;
    /** The requests in flight, here or on their way to another node. */
    public final Quota running;
    /** Whether the store outlives this process. */
    public final boolean durable;
    /** Whether other nodes use the store too. */
    public final boolean shared;

    private final ScheduledExecutorService scheduler;
    private final Executor executor;
    private volatile boolean storeWorks = true;

    protected SessionHost(
            InstantSource wallClock,
            RandomGenerator random,
            Backend backend,
            StreamSetting streams,
            Telemetry telemetry,
            Quota running,
            SessionStore.Promise promise,
            ScheduledExecutorService scheduler,
            Executor executor) {
        this.clock = streams.clock();
        this.wallClock = wallClock;
        this.random = random;
        this.backend = backend;
        this.messages = streams.messages();
        this.limits = streams.limits();
        this.streams = streams;
        this.telemetry = telemetry;
        this.running = running;
        this.durable = promise.durability() != SessionStore.Durability.NOTHING;
        this.shared = promise.shared();
        this.scheduler = scheduler;
        this.executor = executor;
    }

    /** The other nodes that serve the same sessions. */
    public abstract Cluster cluster();

    public SessionStore store() {
        return cluster().store();
    }

    /** Does something later, on the scheduler. */
    public void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    /** Does something elsewhere, where it may block; false if nobody does it. */
    public boolean elsewhere(Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RuntimeException | Error e) {
            // there may be too many threads, or an executor that is full
            logger.error("nobody does what has to be done for a session", e);
            return false;
        }
    }

    /** Whether the store took what it was given last, and this node may write to it. */
    public boolean storeWorks() {
        return storeWorks && (!shared || cluster().mayWrite());
    }

    /** The store has taken something, or has failed. */
    public void storeWorks(boolean works) {
        if (storeWorks != works) {
            storeWorks = works;
        }
    }

    /** Whether no new calls are taken. */
    public abstract boolean draining();

    /** Whether connections are sent to the successor of this server. */
    public abstract boolean handingOver();

    /** So many more calls are on their way to other nodes, or fewer; a drain waits for them. */
    protected abstract void forwarded(int more);

    /** Makes room where all sessions together keep too much. */
    public abstract void makeRoom();

    /** Whether a session of this principal that keeps so much may wait in the store. */
    protected abstract boolean canPark(String principal, long bytes);

    /** A session has closed, and leaves its place. */
    protected abstract void leaves(String principal);

    /**
     * A session has left memory and waits in the store.
     *
     * @param epoch the last epoch that it had here
     * @param since when it began to wait for its client, by the clock
     * @param waits how long it waits from then on, in nanoseconds
     * @param margin how much longer the store keeps it than that
     */
    protected abstract void parked(
            SessionKey key,
            String id,
            String principal,
            Epoch epoch,
            long bytes,
            long since,
            long waits,
            Duration margin);

    /**
     * Lets the store forget a session that has ended here; false where another node has claimed it since, and keeps it.
     *
     * @param last the last epoch that it had here
     */
    public CompletionStage<Boolean> remove(SessionKey key, Epoch last) {
        // what nobody shares is ours in any epoch: the answer to a claim may have been lost
        return StoreQuestion.ask(
                () -> shared ? store().delete(key, last) : store().delete(key).thenApply(done -> true));
    }

    /**
     * Lets the store forget a session whose time is over here; false where another node may have used it later, and the store keeps it.
     *
     * @param last the last epoch that it had here
     */
    CompletionStage<Boolean> expire(SessionKey key, Epoch last) {
        return shared ? StoreQuestion.ask(() -> cluster().expire(key, last)) : remove(key, last);
    }

    /** A session that is closed is not in memory any more, and who asks for it asks the store. */
    public abstract void forget(SessionKey key);

    /** Ends a session that is not in memory any more; false if there is none. */
    protected abstract CompletionStage<Boolean> terminate(String id, String principal);

    /** Nothing is left of a session. */
    protected abstract void ended();

    /** Nothing is left of a session that was not opened. */
    protected abstract void abandoned(String principal);

    /** A backend is on its way out; a drain waits for it. */
    protected abstract void closing(CompletionStage<Void> backend);
}
