package dev.holdfast.session;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.EndReason;
import dev.holdfast.EngineStats;
import dev.holdfast.LogThrottle;
import dev.holdfast.Refusal;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLifecycleListener.TaskEvent;
import dev.holdfast.SessionState;
import dev.holdfast.WriteStall;
import dev.holdfast.log.EngineClock;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happens to the sessions of an engine: counted, and told to the listener. Safe for use by any thread. What tells a listener is called
 * without a lock; what only counts, in a step too.
 */
public final class Telemetry {
    private static final Logger logger = LoggerFactory.getLogger(Telemetry.class);
    /** A line for each fact as long as it is a handful. */
    private static final int MOST_LINES = 10;

    private final SessionLifecycleListener listener;
    private final CallListener calls;
    private final LongAdder listened = new LongAdder();
    private final LongAdder resumed = new LongAdder();
    private final LongAdder superseded = new LongAdder();
    private final LongAdder replayed = new LongAdder();
    private final Map<WriteStall, LongAdder> stalls = new EnumMap<>(WriteStall.class);
    private final Map<TaskEvent, LongAdder> tasks = new EnumMap<>(TaskEvent.class);
    private final LongAdder restored = new LongAdder();
    private final LongAdder created = new LongAdder();
    private final LongAdder gaps = new LongAdder();
    private final LongAdder unsolicited = new LongAdder();
    private final LongAdder timedOut = new LongAdder();
    private final LogThrottle detachedLines;
    private final LogThrottle gapLines;
    private final LogThrottle timedOutLines;
    private final LogThrottle backendLines;
    private final LogThrottle changedLines;
    private final LogThrottle storeLines;
    final AccessLog access;
    private final Map<EndReason, LongAdder> ended = new EnumMap<>(EndReason.class);
    private final Map<Refusal, Told> refused = new EnumMap<>(Refusal.class);

    /** How often something happened for one reason, and what of that the log tells. */
    private record Told(LongAdder count, LogThrottle lines) {}

    /** @param server its name in the access log, empty for none */
    public Telemetry(String server, SessionLifecycleListener listener, CallListener calls, LongSupplier clock) {
        this.listener = listener;
        this.calls = calls;
        this.detachedLines = new LogThrottle(MOST_LINES, clock);
        this.gapLines = new LogThrottle(MOST_LINES, clock);
        this.timedOutLines = new LogThrottle(MOST_LINES, clock);
        this.backendLines = new LogThrottle(MOST_LINES, clock);
        this.changedLines = new LogThrottle(MOST_LINES, clock);
        this.storeLines = new LogThrottle(MOST_LINES, clock);
        this.access = new AccessLog(server, clock);
        for (EndReason reason : EndReason.values()) {
            ended.put(reason, new LongAdder());
        }
        for (WriteStall kind : WriteStall.values()) {
            stalls.put(kind, new LongAdder());
        }
        for (TaskEvent event : TaskEvent.values()) {
            tasks.put(event, new LongAdder());
        }
        for (Refusal reason : Refusal.values()) {
            refused.put(reason, new Told(new LongAdder(), new LogThrottle(1, clock)));
        }
    }

    private static <K, V> V of(Map<K, V> all, K reason) {
        return Objects.requireNonNull(all.get(reason));
    }

    private void tell(Consumer<SessionLifecycleListener> event) {
        try {
            event.accept(listener);
        } catch (Throwable e) {
            logger.error("a session lifecycle listener failed", e);
        }
    }

    public void promised(SessionStore.Promise promise) {
        String survives = switch (promise.durability()) {
            case NOTHING -> "sessions end with this process";
            case PROCESS_DEATH -> "sessions survive the end of this process";
            case POWER_LOSS -> "sessions survive the end of this process and a power loss";
        };
        logger.info("store: {}{}", survives, promise.shared() ? ", and are shared between nodes" : "");
    }

    /** A session has been opened; over HTTP+SSE its client has yet to initialize it, and a carrier has none. */
    void created(String sessionId, String kind, Supplier<AccessLog.Subject> session) {
        if (kind.equals(SessionRecord.SESSION)) {
            initialized(session);
        } else {
            logger.debug("{} {}: created", kind, shortened(sessionId));
        }
        created.increment();
        tell(l -> l.onSessionCreated(sessionId));
    }

    void initialized(Supplier<AccessLog.Subject> session) {
        access.begins(session, "opened");
    }

    /** A session has come from the store. */
    void returned(Supplier<AccessLog.Subject> session, SessionState as) {
        access.begins(session, as == SessionState.DETACHED ? "returned" : "joined");
    }

    void detached(String sessionId, Duration grace) {
        detachedLines.write(more -> logger.info(
                "session {}: connection lost, waiting {} for the client{}",
                shortened(sessionId),
                EngineClock.text(grace),
                more));
        tell(l -> l.onSessionDetached(sessionId, grace));
    }

    void reconnected(String sessionId) {
        tell(l -> l.onSessionReconnected(sessionId));
    }

    /**
     * A client came to read a stream.
     *
     * @param messages how many were kept for it
     */
    void attached(Attachment how, long messages) {
        (how == Attachment.LISTENED ? listened : resumed).increment();
        replayed.add(messages);
    }

    void superseded() {
        superseded.increment();
    }

    /** The peer of a connection takes no bytes. */
    public void stalled(WriteStall kind) {
        of(stalls, kind).increment();
    }

    /** Something happened to a call whose client has a handle. */
    public void task(String sessionId, TaskEvent event) {
        of(tasks, event).increment();
        tell(l -> l.onTask(sessionId, event));
    }

    /** A request is about to go to its backend. Who follows it from here on may throw. */
    CallWatch started(Session session, InboundMessage request) {
        try {
            return Objects.requireNonNull(
                    calls.started(session, request),
                    () -> calls.getClass().getName() + " returned null: return CallWatch.NONE");
        } catch (Throwable e) {
            logger.error("a listener of calls failed", e);
            return CallWatch.NONE;
        }
    }

    void restoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
        tell(l -> l.onRestoreEnded(sessionId, outcome, took));
    }

    void restored(String sessionId) {
        restored.increment();
        tell(l -> l.onSessionRestored(sessionId));
    }

    /** The fresh backend of a session is not what the one before was. */
    void backendChanged(String sessionId) {
        changedLines.write(more -> logger.info(
                "session {}: its backend has other capabilities, or another name or version, than before{}",
                shortened(sessionId),
                more));
        tell(l -> l.onBackendChanged(sessionId));
    }

    void parked(String sessionId) {
        logger.debug("session {}: parked", shortened(sessionId));
        tell(l -> l.onSessionParked(sessionId));
    }

    public void closedInStore(String sessionId, String principal, EndReason reason) {
        closedInStore(sessionId, principal, reason, reason.text());
    }

    private void closedInStore(String sessionId, String principal, EndReason reason, String because) {
        access.endedInStore(shortened(sessionId), principal, reason, because);
        closed(sessionId, reason);
    }

    /** The time of a session is over that waited in the store: it had left memory so long ago. */
    public void expiredInStore(String sessionId, String principal, Duration away) {
        closedInStore(
                sessionId,
                principal,
                EndReason.EXPIRED,
                EngineClock.text(away)
                        + " after it had left memory its client had not come back within the grace period or"
                        + " the idle timeout (sessionReconnectGracePeriod, --reconnect-grace,"
                        + " holdfast.session.reconnect-grace-period; sessionIdleTimeout, --idle-timeout,"
                        + " holdfast.session.idle-timeout)");
    }

    /** A session has ended that was in this state. */
    void closed(
            String sessionId,
            EndReason reason,
            String because,
            Lifecycle.State before,
            String kind,
            Supplier<AccessLog.Subject> session) {
        if (!kind.equals(SessionRecord.CARRIER)) {
            access.ended(session, reason, because, before);
        }
        closed(sessionId, reason);
    }

    private void closed(String sessionId, EndReason reason) {
        of(ended, reason).increment();
        tell(l -> l.onSessionClosed(sessionId, reason));
    }

    /** What the store has kept of a session cannot be read. */
    public void unreadable(String sessionId, Throwable why) {
        storeLines.write(more ->
                logger.error("session {}: what is kept of it cannot be read{}", shortened(sessionId), more, why));
    }

    public void notDeleted(String sessionId, Throwable failure) {
        storeLines.write(more -> logger.warn(
                "session {}: the store did not delete it: {}{}", shortened(sessionId), failure.toString(), more));
    }

    /** The store has failed a session for some seconds. */
    void storeFails(String sessionId, Throwable failure) {
        storeLines.write(more ->
                logger.warn("session {}: the store fails: {}{}", shortened(sessionId), failure.toString(), more));
    }

    static String shortened(String sessionId) {
        return sessionId.length() <= 8 ? sessionId : sessionId.substring(0, 8);
    }

    void backendLost(String sessionId, String cause) {
        backendLines.write(
                more -> logger.info("session {}: the backend is gone: {}{}", shortened(sessionId), cause, more));
    }

    /** A session cannot get another backend, and ends for it. */
    void backendNotRestored(String sessionId, String cause) {
        backendLines.write(more -> logger.warn("session {}: cannot go on: {}{}", shortened(sessionId), cause, more));
    }

    /** The backend of a session that nobody uses was ended, so that there is room for another one. */
    void backendReleased(String sessionId) {
        logger.debug("session {}: its backend made room for another", shortened(sessionId));
        tell(l -> l.onBackendReleased(sessionId));
    }

    void gap(String sessionId, String stream) {
        gapLines.write(more -> logger.info(
                "session {}: messages on stream {} were dropped or lost before they were read{}",
                shortened(sessionId),
                stream,
                more));
        gaps.increment();
        tell(l -> l.onGap(sessionId, stream));
    }

    /** A message is not sent, since no running call has asked for it. */
    void unsolicited() {
        unsolicited.increment();
    }

    void timedOut(String sessionId) {
        timedOutLines.write(
                more -> logger.info("session {}: a call ran for too long and was ended{}", shortened(sessionId), more));
        timedOut.increment();
        tell(l -> l.onCallTimedOut(sessionId));
    }

    public void refused(Refusal reason, String detail) {
        Told all = of(refused, reason);
        all.count.increment();
        tell(l -> l.onRefused(reason));
        String what = detail.isEmpty() ? reason.text() : detail;
        all.lines.write(more -> logger.info("refused: {} ({}){}", what, reason.code(), more));
    }

    /**
     * What an engine holds now.
     *
     * @param sessions sessions in memory
     * @param states the same by state
     * @param carriers those of them that carry requests of a revision without sessions
     * @param connections connections that read a stream
     * @param parked sessions that wait in the store
     * @param runningCalls requests that run
     * @param bytes bytes of kept messages
     * @param events kept messages
     * @param dropped messages that were dropped because a limit asked for it, since the engine was built
     */
    public record Held(
            int sessions,
            Map<SessionState, Integer> states,
            int carriers,
            int connections,
            int parked,
            int runningCalls,
            long bytes,
            long events,
            long dropped) {}

    /** All of it, with what the engine holds now. */
    public EngineStats stats(Held held) {
        Map<Refusal, Long> refusals = new EnumMap<>(Refusal.class);
        refused.forEach((reason, all) -> refusals.put(reason, all.count.sum()));
        return new EngineStats(
                held.sessions,
                held.states,
                held.carriers,
                held.connections,
                held.parked,
                held.runningCalls,
                held.bytes,
                held.events,
                created.sum(),
                sums(ended),
                refusals,
                gaps.sum(),
                held.dropped,
                unsolicited.sum(),
                timedOut.sum(),
                listened.sum(),
                resumed.sum(),
                superseded.sum(),
                replayed.sum(),
                restored.sum(),
                sums(stalls),
                sums(tasks));
    }

    private static <K extends Enum<K>> Map<K, Long> sums(Map<K, LongAdder> counts) {
        Map<K, Long> sums = new TreeMap<>();
        counts.forEach((key, count) -> sums.put(key, count.sum()));
        return sums;
    }
}
