package dev.holdfast.client;

import dev.holdfast.client.StreamOwner.Loss;
import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.SilenceException;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.io.EOFException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One stream of events over all connections that carry it, the first of which may be that of a POST: when a connection ends, the next one
 * begins where it ended. One connection at a time, so its parts run on one thread at a time.
 */
final class EventStream implements StreamHandler {
    private static final CompletionStage<Void> TAKEN = CompletableFuture.completedFuture(null);
    /** A connection that lasts this long, without the silence at its end, proves that the server works. */
    private static final long PROOF_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long the head of a resumed stream may take: the missing events are there, so the server has nothing to wait for. */
    private static final Duration RESUMED_HEAD = Duration.ofSeconds(10);

    /** The least pause before the next connection, after one that brought nothing new. */
    private static final long STALE_PAUSE_MILLIS = 100;

    /** What the TypeScript SDK replays for an event without data. */
    private static final byte[] EMPTY = {'{', '}'};

    /** How long a server may keep a stream open after the response that it was for. */
    private static final long LINGER_MILLIS = 5_000;

    private final ServerSession session;
    private final URI uri;
    private final Object context;
    private final StreamOwner owner;
    private final Cursor cursor;
    private final Retry retry;
    private final StaleStreamWatchdog watchdog = new StaleStreamWatchdog();
    private int credentials;
    private long stated;
    /** Whether the server has stated the reconnection time on this connection. */
    private boolean statedHere;

    private long connectedAt;
    private int connections;
    private boolean ofPost;
    private boolean resumed;
    /** Why the last message could not be read. */
    private @Nullable Throwable unread;
    /** The cursor of this connection's request. */
    private Optional<String> askedFrom = Optional.empty();

    private volatile boolean stopped;
    private volatile @Nullable HttpExchange current;
    private volatile @Nullable Future<?> deadline;

    /** A stream at its start, which is not open. */
    EventStream(ServerSession session, URI uri, Object context, StreamOwner owner) {
        this.session = session;
        this.uri = uri;
        this.context = context;
        this.owner = owner;
        this.cursor = new Cursor(session.server.limits().resumable());
        this.retry = new Retry(session.server, session.outage, this::open);
    }

    /** A stream like this was open before: events may be missing when this one opens. */
    void comesLate() {
        connections = 1;
    }

    /** Makes the exchange of a POST whose answer may begin the stream. The owner starts it, and calls {@link #cameApart} when it ends. */
    HttpExchange begunBy(HttpRequest post) {
        HttpExchange exchange = session.answering(post, this);
        ofPost = true;
        current = exchange;
        return exchange;
    }

    /** Asks for the stream from its cursor on. */
    void open() {
        if (stopped || owner.complete()) {
            stop();
            return;
        }
        Optional<String> from = cursor.last();
        session.getRequest(uri, from, context).whenComplete((request, failure) -> {
            if (failure != null) {
                unreachable(failure, 0);
            } else {
                start(request, from.isPresent());
            }
        });
    }

    private void start(HttpRequest request, boolean resuming) {
        HttpExchange exchange = owner.opensAnew() ? session.listening(request, this) : session.answering(request, this);
        current = exchange;
        if (stopped) {
            return;
        }
        ofPost = false;
        statedHere = false;
        askedFrom = cursor.last();
        resumed = resuming;
        if (resuming && !session.headsAtOnce()) {
            watchdog.expectEvent(exchange);
        }
        exchange.start(resuming ? RESUMED_HEAD.toNanos() : HeartbeatWatch.UNLIMITED)
                .thenAccept(end -> {
                    if (end instanceof ExchangeEnd.Answer answer) {
                        answered(answer, request, resuming);
                    } else if (end instanceof ExchangeEnd.NoAnswer none && resuming && ignored(none.cause())) {
                        notResumed(none.cause());
                    } else if (end instanceof ExchangeEnd.NoAnswer none) {
                        if (none.sent()) {
                            comesLate(); // it may have been open: some servers send no head before the first message
                        }
                        unreachable(none.cause(), 0);
                    } else {
                        cameApart(end);
                    }
                });
    }

    @Override
    public void opened(HttpHeaders headers) {
        if (ofPost) {
            owner.opened(headers);
        }
        connectedAt = System.nanoTime();
        credentials = 0;
        cursor.connected();
        retry.connected();
        HttpExchange exchange = current;
        if (resumed && exchange != null) {
            watchdog.expectNewEvents(exchange);
        }
        if (connections++ > 0 && cursor.last().isEmpty()) {
            owner.gap();
        }
    }

    @Override
    public void retry(long millis) {
        stated = millis;
        statedHere = true;
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        watchdog.eventCame = true;
        if (stopped || !cursor.isNew(event, session.sessionId())) {
            return TAKEN;
        }
        byte[] data = event.data();
        boolean message = event.name().equals(SseEvent.MESSAGE);
        if (message && data.length == 0) {
            cursor.passed(event);
            return TAKEN;
        }
        if (data.length > 0 && event.id().isPresent() && cursor.usable()) {
            // an event without an id may be the same one on each connection
            retry.succeeded();
        }
        return message && !Arrays.equals(data, EMPTY)
                ? message(event, data)
                : owner.other(event).thenRun(() -> cursor.passed(event));
    }

    private CompletionStage<Void> message(SseEvent event, byte[] data) {
        EnvelopeReader.Parsed body = MessageBodies.read(data);
        unread = null;
        if (body instanceof EnvelopeReader.Malformed malformed) {
            Throwable why = new UnreadableMessageException(malformed.message());
            unread = why;
            boolean ours = false;
            for (RequestId request : MessageBodies.answered(data)) {
                ours |= owner.unreadable(request, why);
            }
            if (ours) {
                session.watch.failed(why);
                lose(new Loss.Unreadable(why));
                return TAKEN;
            }
        }
        if (resumed && body instanceof EnvelopeReader.Single single && owner.leaves(single.message())) {
            session.taken.repeated();
            return TAKEN;
        }
        Supplier<CompletionStage<Void>> taking = () -> {
            watchdog.newEvent();
            return MessageBodies.take(body, session.watch, owner::message);
        };
        watchdog.busy = true;
        CompletionStage<Void> taken =
                cursor.usable() ? session.taken.once(event, hashCode(), resumed, taking) : taking.get();
        return taken.whenComplete((nothing, failure) -> {
            if (failure == null) {
                cursor.passed(event);
            }
            watchdog.taken();
        });
    }

    /** A connection that carried the stream has ended; it is resumed unless nothing is missing. */
    void cameApart(ExchangeEnd end) {
        if (stopped || owner.complete()) {
            stop();
            return;
        }
        if (current != null && current == watchdog.ended) {
            retry.succeeded();
            // the server has to notice first that the connection before is gone
            long pause = ThreadLocalRandom.current().nextLong(STALE_PAUSE_MILLIS, 2 * STALE_PAUSE_MILLIS);
            session.later(Math.max(stated, pause), this::open);
            return;
        }
        boolean inOrder = end instanceof ExchangeEnd.StreamEnded;
        boolean asksToBePolled = inOrder && statedHere;
        if (inOrder && unread != null && owner.ofOneRequest() && !(asksToBePolled && resumable())) {
            lose(unreadMessage(unread));
            return;
        }
        if (asksToBePolled && (cursor.last().isPresent() || owner.opensAnew())) {
            retry.poll(stated, !cursor.last().equals(askedFrom));
            return;
        }
        Throwable cause = end instanceof ExchangeEnd.StreamBroken broken
                ? broken.cause()
                : new EOFException("the server ended the stream");
        long silent = cause instanceof SilenceException silence ? silence.nanos() : 0;
        if (System.nanoTime() - connectedAt - silent > PROOF_NANOS) {
            retry.succeeded();
        }
        if (cause instanceof OversizedEventException oversized) {
            oversized(oversized);
            return;
        }
        if (!inOrder) {
            retry.broke(cause);
        }
        if (cause instanceof SilenceException) {
            owner.silent();
        }
        if (cursor.last().isPresent() || owner.opensAnew()) {
            later(cause, 0);
        } else if (inOrder) {
            lose(new Loss.NoAnswer("its stream ended, and no response had come on it", cause));
        } else {
            lose(new Loss.NoCursor("its connection ended, and its events had no ids", cause));
        }
    }

    /** The stream continues after the message that is too large, if it has an id. */
    private void oversized(OversizedEventException oversized) {
        if (owner.opensAnew()) {
            oversized.id().ifPresentOrElse(cursor::skip, cursor::forget);
            session.watch.failed(oversized);
            owner.gap();
            later(oversized, 0);
        } else {
            lose(new Loss.Unreadable(oversized));
        }
    }

    /** Whether the server accepts ids but never resumes: some leave the connection without a head. */
    private boolean ignored(Throwable cause) {
        return cause instanceof SilenceException && !session.headsAtOnce() && !session.taken.repeats();
    }

    private void notResumed(Throwable cause) {
        if (stopped) {
            return;
        }
        if (owner.opensAnew()) {
            forget();
            owner.gap();
            open();
        } else {
            lose(nothingMore(new Loss.NoCursor("the server does not resume it", cause)));
        }
    }

    /** The next connection has no cursor, and its event ids may repeat earlier ones. */
    private void forget() {
        cursor.forget();
        session.taken.clear();
    }

    /**
     * The server has answered without the stream. Where that leaves a question open, the application or the server is asked.
     *
     * @param resuming whether a place was named
     */
    private void answered(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        if (stopped) {
            return;
        }
        switch (answer.status()) {
            case 401, 403 ->
                session.server
                        .requests()
                        .authorized(request, answer, credentials++, context)
                        .whenComplete((again, failure) -> {
                            if (failure == null && again) {
                                open();
                            } else {
                                lose(new Loss.Refused(answer, request));
                            }
                        });
            case 400, 404 -> suspected(answer, request, resuming);
            case 204 -> noPlace(answer, request, resuming);
            case 408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524 ->
                unreachable(HttpStatusException.of(answer), answer.retryAfterMillis(Instant.now()));
            default -> lose(new Loss.Refused(answer, request));
        }
    }

    /** Either the session is gone, or the server does not support GET. */
    private void suspected(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        if (!session.mayBeLost()) {
            noPlace(answer, request, resuming);
            return;
        }
        session.probe.settle(uri, context, System.nanoTime()).thenAccept(found -> {
            switch (found) {
                case GONE -> lose(new Loss.SessionGone());
                case THERE, REFUSED -> noPlace(answer, request, resuming);
                case UNKNOWN -> unreachable(HttpStatusException.of(answer), 0);
            }
        });
    }

    /** The server does not know the cursor; or without one, does not give the stream. */
    private void noPlace(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        if (!resuming) {
            lose(new Loss.Refused(answer, request));
        } else if (owner.opensAnew()) {
            forget();
            open();
        } else {
            String reason = answer.status() == 204
                    ? "the server has nothing more of it"
                    : "the server does not know it any more";
            lose(nothingMore(new Loss.NoCursor(reason, HttpStatusException.of(answer))));
        }
    }

    private void unreachable(Throwable cause, long wait) {
        if (!stopped) {
            retry.broke(cause);
            later(cause, wait);
        }
    }

    private void later(Throwable cause, long wait) {
        if (!retry.again(Math.max(wait, stated))) {
            lose(new Loss.GivenUp(cause));
        }
    }

    /** If the stream of a request brings nothing more, the message that could not be read was its answer. */
    private Loss nothingMore(Loss loss) {
        Throwable why = unread;
        return why != null && owner.ofOneRequest() ? unreadMessage(why) : loss;
    }

    private static Loss unreadMessage(Throwable why) {
        return new Loss.NoAnswer(String.valueOf(why.getMessage()), why);
    }

    private void lose(Loss loss) {
        if (!stopped) {
            stop();
            owner.lost(loss);
        }
    }

    /** Whether there is a place to resume it from. */
    boolean resumable() {
        return !stopped && cursor.last().isPresent();
    }

    /** Whether no connection carries it. */
    boolean idle() {
        HttpExchange open = current;
        return open == null || open.end().isDone();
    }

    /** Ends its connection, so that it is resumed on another, once what has come on this one is taken. */
    void interrupt() {
        HttpExchange open = current;
        if (open != null) {
            open.interrupt("the server was silent on another connection");
        }
    }

    /**
     * Gives the server a moment to end the stream itself.
     *
     * @param late runs if it has not
     */
    void linger(Runnable late) {
        deadline = session.later(LINGER_MILLIS, late);
    }

    /** Ends the stream on this side, or does nothing more where it has ended. */
    void stop() {
        stopped = true;
        retry.stop();
        Future<?> pending = deadline;
        if (pending != null) {
            pending.cancel(false);
        }
        HttpExchange open = current;
        if (open != null) {
            open.abort("the stream is not wanted any more");
        }
    }

    /**
     * Finds out that a connection which resumed the stream brings nothing. Some servers accept the cursor, send the head, and then nothing.
     * Others replay the events of all streams and then send no new ones: if the server is known to do that, the connection is ended, so
     * that the stream is resumed once more. The wait doubles each time, until something new comes.
     */
    private final class StaleStreamWatchdog {
        private static final long FIRST_MILLIS = 5_000;
        private static final long LONGEST_MILLIS = 60_000;

        private volatile long wait = FIRST_MILLIS;
        private volatile long newEventAt;
        private volatile boolean busy;
        private volatile boolean eventCame;
        private volatile @Nullable HttpExchange ended;

        /** The next look at one connection; none is left once that has ended. */
        private static final class Check {
            private volatile @Nullable Future<?> next;

            private Check(HttpExchange exchange) {
                exchange.end().thenRun(this::cancel);
            }

            private void cancel() {
                Future<?> pending = next;
                if (pending != null) {
                    pending.cancel(false);
                }
            }
        }

        /** Waits for the first event on a connection that is about to resume the stream. */
        void expectEvent(HttpExchange exchange) {
            eventCame = false;
            // a listening stream is missed soon; a call may take its time, but not longer than it is retried
            Duration most =
                    owner.opensAnew() ? RESUMED_HEAD : session.server.limits().retryTimeout();
            lookForEvent(exchange, most, new Check(exchange));
        }

        private void lookForEvent(HttpExchange exchange, Duration most, Check check) {
            check.next = session.later(most.toMillis(), () -> {
                if (eventCame || exchange.end().isDone() || session.headsAtOnce() || session.taken.repeats()) {
                    return;
                }
                if (exchange.busy(most.toNanos())) {
                    lookForEvent(exchange, most, check);
                } else if (owner.opensAnew()) {
                    forget();
                    exchange.interrupt("the server does not resume the stream");
                } else {
                    notResumed(new EOFException("nothing came on the stream that was resumed"));
                }
            });
        }

        /** Watches a connection that has resumed the stream. */
        void expectNewEvents(HttpExchange exchange) {
            taken();
            lookForNewEvents(wait, exchange, new Check(exchange));
        }

        private void lookForNewEvents(long millis, HttpExchange exchange, Check check) {
            check.next = session.later(millis, () -> {
                if (exchange.end().isDone()) {
                    return;
                }
                long left = wait - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - newEventAt);
                if (!session.taken.repeats()) {
                    lookForNewEvents(LONGEST_MILLIS, exchange, check);
                } else if (busy || exchange.busy(TimeUnit.MILLISECONDS.toNanos(wait)) || left > 0) {
                    lookForNewEvents(Math.max(left, 1_000), exchange, check);
                } else {
                    wait = Math.min(LONGEST_MILLIS, 2 * wait);
                    ended = exchange;
                    exchange.interrupt("nothing new comes on it");
                }
            });
        }

        void newEvent() {
            newEventAt = System.nanoTime();
            wait = FIRST_MILLIS;
        }

        /** Nothing is being taken from here on. */
        void taken() {
            newEventAt = System.nanoTime();
            busy = false;
        }
    }
}
