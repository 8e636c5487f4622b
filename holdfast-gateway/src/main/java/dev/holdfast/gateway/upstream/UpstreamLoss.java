package dev.holdfast.gateway.upstream;

import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.ListeningSink;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the upstream loses. When it has lost the session, the engine opens another one from its journal: as soon as it is known of each
 * running call whether the upstream has done anything of it, or a moment later. The client is told that lists may have changed
 * that it was promised to hear of.
 */
final class UpstreamLoss implements SessionWatch {
    private static final Logger log = LoggerFactory.getLogger(UpstreamLoss.class);
    private static final String GONE = "the upstream has lost the session";
    private static final String STUCK = "the upstream takes no messages";
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final UpstreamCalls calls;
    private final ListeningSink listening;
    private final ScheduledExecutorService clock;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final AtomicBoolean reported = new AtomicBoolean();
    private volatile byte promisedLists;

    UpstreamLoss(UpstreamCalls calls, ListeningSink listening, ScheduledExecutorService clock) {
        this.calls = calls;
        this.listening = listening;
        this.clock = clock;
    }

    /** The lists whose changes the upstream has promised to tell, as its answer to {@code initialize} names them. */
    void promised(byte lists) {
        promisedLists = lists;
    }

    @Override
    public void reconnecting(Throwable cause) {
        log.debug("session {}: the upstream cannot be reached: {}", shortId(), cause.toString());
    }

    @Override
    public void resumed(Duration away) {
        log.debug("session {}: the upstream is back after {} ms", shortId(), away.toMillis());
    }

    @Override
    public void failed(Throwable failure) {
        log.debug("session {}: the upstream: {}", shortId(), failure.toString());
    }

    @Override
    public void gap() {
        tellChanges();
    }

    @Override
    public void gone() {
        if (begun.compareAndSet(false, true)) {
            tellChanges();
            Future<?> unused = clock.schedule(() -> report(GONE), PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            settled();
        }
    }

    /** Whether the session is lost. */
    boolean begun() {
        return begun.get();
    }

    /** A call has ended. */
    void settled() {
        if (begun.get() && calls.isEmpty()) {
            report(GONE);
        }
    }

    /** Too much is on its way to the upstream: it gets another session, and what waits is given up. */
    void stuck() {
        if (begun.compareAndSet(false, true)) {
            tellChanges();
        }
        report(STUCK);
    }

    private void report(String cause) {
        if (reported.compareAndSet(false, true)) {
            listening.lost(cause, calls.untouched());
        }
    }

    private void tellChanges() {
        JsonRpc.MESSAGES.listsChanged(promisedLists).forEach(change -> {
            CompletionStage<Void> unused = listening.send(change);
        });
    }

    private String shortId() {
        String id = listening.sessionId();
        return id.length() <= 8 ? id : id.substring(0, 8);
    }
}
