package dev.holdfast.session;

import dev.holdfast.Refusal;
import dev.holdfast.SessionLimits;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.random.RandomGenerator;

/**
 * What a session needs of the node it lives on. Safe for use by any thread. What answers at once is called under the session's lock too;
 * what returns a stage, does something later or elsewhere, makes room, or lets a session go is not.
 */
public interface SessionHost {
    /** What deadlines follow. */
    EngineClock clock();

    /** By which records are dated. */
    InstantSource wallClock();

    RandomGenerator random();

    SessionStore store();

    /** Whether the store outlives this process. */
    boolean durable();

    /** Whether other nodes use the store too. */
    boolean shared();

    /** The other nodes that serve the same sessions. */
    Cluster cluster();

    Backend backend();

    /** How the few messages of the engine's own are written. */
    MessageFactory messages();

    SessionLimits limits();

    /** What the session's streams need. */
    StreamSetting streams();

    Telemetry telemetry();

    /** Does something later, on the scheduler. */
    void later(Runnable task, long millis);

    /** Does something elsewhere, where it may block; false if nobody does it. */
    boolean elsewhere(Runnable task);

    /** Whether the store took what it was given last. */
    boolean storeWorks();

    /** The store has taken something, or has failed. */
    void storeWorks(boolean works);

    /** Whether no new calls are taken. */
    boolean draining();

    /** Whether connections are sent to the successor of this server. */
    boolean handingOver();

    /** Why so many more requests of a principal may not be in flight, if they may not. */
    Optional<Refusal> noRoomFor(String principal, int requests);

    /** So many more requests of a principal are in flight, here or on their way to another node, or fewer. */
    void running(String principal, int more);

    /** So many more calls are on their way to other nodes, or fewer; a drain waits for them. */
    void forwarded(int more);

    /** Makes room where all sessions together keep too much. */
    void makeRoom();

    /** Whether a session of this principal that keeps so much may wait in the store. */
    boolean canPark(String principal, long bytes);

    /** A session has closed, and leaves its place. */
    void leaves(String principal);

    /**
     * A session has left memory and waits in the store.
     *
     * @param epoch the last epoch that it had here
     * @param since when it began to wait for its client, by the clock
     * @param patience how long it waits, in nanoseconds
     * @param margin how much longer the store keeps it than that
     */
    void parked(
            SessionKey key,
            String id,
            String principal,
            Epoch epoch,
            long bytes,
            long since,
            long patience,
            Duration margin);

    /**
     * Lets the store forget a session that has ended here; false where another node has claimed it since, and keeps it.
     *
     * @param last the last epoch that it had here
     */
    CompletionStage<Boolean> remove(SessionKey key, Epoch last);

    /**
     * Lets the store forget a session whose time is over here; false where another node may have used it later, and the store keeps it.
     *
     * @param last the last epoch that it had here
     */
    CompletionStage<Boolean> expire(SessionKey key, Epoch last);

    /** A session that is closed is not in memory any more, and who asks for it asks the store. */
    void forget(SessionKey key);

    /** Ends a session that is not in memory any more; false if there is none. */
    CompletionStage<Boolean> terminate(String id, String principal);

    /** Nothing is left of a session. */
    void ended();

    /** Nothing is left of a session that was not opened. */
    void abandoned(String principal);

    /** A backend is on its way out; a drain waits for it. */
    void closing(CompletionStage<Void> backend);
}
