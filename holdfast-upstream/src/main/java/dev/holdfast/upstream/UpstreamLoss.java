package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.LogThrottle;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.Throttle;
import dev.holdfast.client.UnreadableMessageException;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.ListeningSink;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
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
    /** How long an upstream is left alone that was away for longer than the client's patience. */
    private static final Duration BEFORE_LISTENING = Duration.ofSeconds(10);
    /** Gaps that come faster than this are told together: each telling makes a client ask for all lists again. */
    private static final Duration LEAST_BETWEEN_GAPS = Duration.ofSeconds(10);
    /** How many messages that cannot be read are told in ten seconds. */
    private static final int MOST_LINES = 3;

    private final UpstreamCalls calls;
    private final ListeningSink listening;
    private final UpstreamLink link;
    private final ScheduledExecutorService clock;
    private final Consumer<UpstreamCalls.Call> abandon;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final Throttle gaps;
    private final LogThrottle unreadable = new LogThrottle(MOST_LINES, System::nanoTime);
    /** Whether what comes now comes too late for the first report. */
    private volatile boolean reported;

    private volatile byte promisedLists;
    private volatile Consumer<String> distrusted = cause -> {};

    /**
     * @param abandon ends a call of which it was not found out in time what became of it
     */
    UpstreamLoss(
            UpstreamCalls calls,
            ListeningSink listening,
            UpstreamLink link,
            ScheduledExecutorService clock,
            Consumer<UpstreamCalls.Call> abandon) {
        this.abandon = abandon;
        this.calls = calls;
        this.listening = listening;
        this.link = link;
        this.clock = clock;
        this.gaps = new Throttle(
                LEAST_BETWEEN_GAPS,
                (millis, task) -> clock.schedule(task, millis, TimeUnit.MILLISECONDS),
                this::tellGaps);
    }

    /** The lists whose changes the upstream has promised to tell, as its answer to {@code initialize} names them. */
    void promised(byte lists) {
        promisedLists = lists;
    }

    /** Sets who hears that the upstream is not trusted. */
    void onDistrust(Consumer<String> hook) {
        distrusted = hook;
    }

    @Override
    public void reconnecting(Throwable cause) {
        UpstreamErrors.distrust(cause).ifPresent(text -> {
            log.warn(
                    "{}: {}",
                    text,
                    LogText.of(String.valueOf(cause.getMessage()).getBytes(UTF_8)));
            distrusted.accept(text);
        });
        log.debug("session {}: the upstream cannot be reached: {}", shortId(), cause.toString());
    }

    @Override
    public void resumed(Duration away) {
        log.debug("session {}: the upstream is back after {} ms", shortId(), away.toMillis());
    }

    @Override
    public void failed(Throwable failure) {
        if (failure instanceof UnreadableMessageException) {
            unreadable.write(more ->
                    log.warn("session {}: the upstream: {}{}", shortId(), String.valueOf(failure.getMessage()), more));
        } else {
            log.debug("session {}: the upstream: {}", shortId(), failure.toString());
        }
    }

    @Override
    public void gap() {
        if (promisedLists != 0) {
            gaps.ask();
        }
    }

    private void tellGaps() {
        if (!begun.get()) {
            tellChanges();
        }
    }

    /** A client that only listens sends nothing that would reach the upstream. */
    @Override
    public void listeningGivenUp() {
        Future<?> unused = clock.schedule(link::listen, BEFORE_LISTENING.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void gone() {
        if (begun.compareAndSet(false, true)) {
            tellChanges();
            Future<?> unused = clock.schedule(this::wentOnTooLong, PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            settled();
        }
    }

    /** The server may want clients to come back later than that. */
    private void wentOnTooLong() {
        calls.all().forEach(abandon);
        report(GONE);
    }

    /** Whether the session is lost. */
    boolean begun() {
        return begun.get();
    }

    /** A call has ended, or does not begin. */
    void settled() {
        if (begun.get() && (reported || calls.isEmpty())) {
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

    /** The first report counts, and later ones for calls that come meanwhile. */
    private void report(String cause) {
        reported = true;
        listening.lost(cause, calls.untouched());
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
