package dev.holdfast;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** What happens to the sessions of an engine: counted, and told to the listener. Safe for use by any thread; called without a lock. */
final class News {
    private static final Logger logger = LoggerFactory.getLogger(News.class);
    /** How often a refusal of the same kind is worth a line in the log: whoever can send requests must not fill a disk. */
    private static final long QUIET_NANOS = 10_000_000_000L;

    private final SessionLifecycleListener listener;
    private final LongSupplier clock;
    private final LongAdder created = new LongAdder();
    private final LongAdder gaps = new LongAdder();
    private final LongAdder timedOut = new LongAdder();
    private final Map<EndReason, LongAdder> ended = new EnumMap<>(EndReason.class);
    private final Map<Refusal, Refused> refused = new EnumMap<>(Refusal.class);

    /** How often something was refused, and how much of that the log has told. */
    private static final class Refused {
        private final LongAdder count = new LongAdder();
        private final AtomicLong toldAt;
        private volatile long told;

        private Refused(long longAgo) {
            this.toldAt = new AtomicLong(longAgo);
        }
    }

    News(SessionLifecycleListener listener, LongSupplier clock) {
        this.listener = listener;
        this.clock = clock;
        long longAgo = clock.getAsLong() - QUIET_NANOS;
        for (EndReason reason : EndReason.values()) {
            ended.put(reason, new LongAdder());
        }
        for (Refusal reason : Refusal.values()) {
            refused.put(reason, new Refused(longAgo));
        }
    }

    private void tell(Consumer<SessionLifecycleListener> news) {
        try {
            news.accept(listener);
        } catch (RuntimeException e) {
            logger.error("a session lifecycle listener failed", e);
        }
    }

    void created(LiveSession session) {
        logger.debug("session {}: created", session.shortId());
        created.increment();
        tell(l -> l.onSessionCreated(session.id()));
    }

    void detached(LiveSession session, Duration grace) {
        logger.info("session {}: connection lost, waiting {} for the client", session.shortId(), grace);
        tell(l -> l.onSessionDetached(session.id(), grace));
    }

    void reconnected(LiveSession session) {
        tell(l -> l.onSessionReconnected(session.id()));
    }

    void restored(LiveSession session) {
        tell(l -> l.onSessionRestored(session.id()));
    }

    void parked(LiveSession session) {
        logger.debug("session {}: put away", session.shortId());
        tell(l -> l.onSessionParked(session.id()));
    }

    /** A session has ended that waited in the store. */
    void expired(String sessionId) {
        logger.debug("session {}: ended, {}", shortened(sessionId), EndReason.EXPIRED.text());
        ended.getOrDefault(EndReason.EXPIRED, new LongAdder()).increment();
        tell(l -> l.onSessionClosed(sessionId, EndReason.EXPIRED));
    }

    /** The store did not delete a session. */
    void notDeleted(String sessionId, Throwable failure) {
        logger.warn("session {}: the store did not delete it: {}", shortened(sessionId), failure.toString());
    }

    private static String shortened(String sessionId) {
        return sessionId.length() <= 8 ? sessionId : sessionId.substring(0, 8);
    }

    /** A session has ended; a client that never used it does not miss it. */
    void closed(LiveSession session, EndReason reason, boolean used) {
        logger.atLevel(used && !reason.expected() ? Level.INFO : Level.DEBUG)
                .log("session {}: ended, {} ({})", session.shortId(), reason.text(), reason.code());
        ended.getOrDefault(reason, new LongAdder()).increment();
        tell(l -> l.onSessionClosed(session.id(), reason));
    }

    /** A client missed something on a stream. */
    void gap(LiveSession session, String stream) {
        logger.info("session {}: messages on stream {} were dropped before they were read", session.shortId(), stream);
        gaps.increment();
        tell(l -> l.onGap(session.id(), stream));
    }

    /** A call was ended that ran for too long. */
    void timedOut(LiveSession session) {
        logger.info("session {}: a call ran for too long and was ended", session.shortId());
        timedOut.increment();
        tell(l -> l.onCallTimedOut(session.id()));
    }

    /** The first refusal of its kind in a while gets a line in the log. */
    void refused(Refusal reason, String detail) {
        Refused all = refused.getOrDefault(reason, new Refused(0));
        all.count.increment();
        tell(l -> l.onRefused(reason));
        long now = clock.getAsLong();
        long last = all.toldAt.get();
        if (now - last >= QUIET_NANOS && all.toldAt.compareAndSet(last, now)) {
            long sum = all.count.sum();
            long more = sum - all.told - 1;
            all.told = sum;
            logger.info(
                    "refused: {} ({}){}{}",
                    detail.isEmpty() ? reason.text() : detail,
                    reason.code(),
                    more > 0 ? ", and before that another " + more : "",
                    more > 0 ? " for this reason" : "");
        }
    }

    /** All of it, with what the engine holds now. */
    EngineStats stats(int sessions, int parked, int runningCalls, NodeHistory history) {
        Map<EndReason, Long> ends = new EnumMap<>(EndReason.class);
        ended.forEach((reason, count) -> ends.put(reason, count.sum()));
        Map<Refusal, Long> refusals = new EnumMap<>(Refusal.class);
        refused.forEach((reason, all) -> refusals.put(reason, all.count.sum()));
        return new EngineStats(
                sessions,
                parked,
                runningCalls,
                history.bytes(),
                history.events(),
                created.sum(),
                ends,
                refusals,
                gaps.sum(),
                history.allDropped(),
                timedOut.sum());
    }
}
