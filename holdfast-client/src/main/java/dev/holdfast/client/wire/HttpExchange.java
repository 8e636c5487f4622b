package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.nio.channels.UnresolvedAddressException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request and what comes back, be it an answer or a stream of events. No thread waits for it. Events are handed over before more is
 * read, so a slow handler slows the server down and nothing piles up here. A silence longer than the watch allows breaks it.
 */
public final class HttpExchange {
    private static final int MOST_REDIRECTS = 5;
    private static final byte[] NOTHING = {};

    private final HttpResources resources;
    private final HttpRequest request;
    private final int messageBytes;
    private final HeartbeatWatch watch;
    private final StreamHandler handler;
    private final CompletableFuture<ExchangeEnd> end = new CompletableFuture<>();
    private volatile @Nullable CompletableFuture<?> running;
    /** Of the newest response, once its head has come. */
    private volatile @Nullable Body body;

    /**
     * An exchange that has not begun.
     *
     * @param messageBytes so many bytes a message may have
     * @param handler takes the events, if a stream comes
     */
    public HttpExchange(
            HttpResources resources,
            HttpRequest request,
            int messageBytes,
            HeartbeatWatch watch,
            StreamHandler handler) {
        this.resources = resources;
        this.request = request;
        this.messageBytes = messageBytes;
        this.watch = watch;
        this.handler = handler;
    }

    /** Begins, and returns how it will end. The stage never fails. */
    public CompletableFuture<ExchangeEnd> start() {
        return start(HeartbeatWatch.UNLIMITED);
    }

    /**
     * The same, with a limit for the head of the answer.
     *
     * @param nanos how long it may take, where the server's own habits allow no less
     */
    public CompletableFuture<ExchangeEnd> start(long nanos) {
        if (end.isDone()) {
            return end;
        }
        send(request, MOST_REDIRECTS);
        long limit = Math.min(nanos, watch.headLimit());
        if (limit != HeartbeatWatch.UNLIMITED) {
            Runnable check = () -> {
                if (body == null) {
                    abort(new SilenceException(limit));
                }
            };
            Future<?> late = resources.clock().schedule(check, limit, TimeUnit.NANOSECONDS);
            end.whenComplete((how, failure) -> late.cancel(false));
        }
        return end;
    }

    private void send(HttpRequest next, int redirects) {
        CompletableFuture<?> sending;
        try {
            sending = resources.http().send(next, this::opened);
        } catch (RuntimeException | Error e) {
            end.complete(new ExchangeEnd.NoAnswer(e, false));
            return;
        }
        running = sending;
        if (end.isDone()) {
            // broken off already; or this thread was slow, and the answer is there
            cancel(sending);
        }
        sending.whenComplete((nothing, failure) -> {
            Body came = body;
            if (failure != null) {
                failed(failure);
            } else if (came != null && !came.stream) {
                answered(next, came, redirects);
            }
        });
    }

    private BodySubscriber<ExchangeEnd> opened(ResponseInfo head) {
        HttpHeaders headers = head.headers();
        boolean events = head.statusCode() / 100 == 2
                && headers.firstValue("content-type")
                        .orElse("")
                        .toLowerCase(Locale.ROOT)
                        .startsWith("text/event-stream");
        if (events && !ExchangeEnd.coding(headers).isEmpty()) {
            // nobody can read it, and it may last
            end.complete(new ExchangeEnd.Answer(head.statusCode(), headers, NOTHING));
            abort(new AbortedException("the stream has a content coding"));
            return BodySubscribers.replacing(new ExchangeEnd.StreamEnded());
        }
        Body opened = new Body(head, events);
        body = opened;
        if (events) {
            opened.done.thenAccept(end::complete);
            handler.opened(headers);
        }
        if (end.isDone()) {
            opened.abort(new AbortedException("not wanted any more"));
        }
        return opened;
    }

    private void answered(HttpRequest asked, Body whole, int redirects) {
        ExchangeEnd answer = whole.done.join();
        Optional<HttpRequest> next = redirects > 0 && !end.isDone() && answer instanceof ExchangeEnd.Answer redirect
                ? resources.redirects().followed(asked, redirect.status(), redirect.headers())
                : Optional.empty();
        if (next.isPresent()) {
            whole.room.close();
            body = null;
            send(next.get(), redirects - 1);
        } else {
            end.complete(answer);
            whole.room.close();
        }
    }

    /** How it ends. */
    public CompletableFuture<ExchangeEnd> end() {
        return end;
    }

    /**
     * Whether what comes on its stream, if one has come, is held back here, or an event is on its way.
     *
     * @param nanos how long nothing may have come of such an event: a connection may die within one
     */
    public boolean busy(long nanos) {
        Body open = body;
        return open != null && open.stream && open.busy(nanos);
    }

    /** Ends it from this side, if it has not ended, and gives up what is not handed over yet. */
    public void abort(String why) {
        if (!end.isDone()) {
            abort(new AbortedException(why));
        }
    }

    /** Breaks its connection off; what has come on that is handed over before the exchange ends. */
    public void interrupt(String why) {
        if (!end.isDone()) {
            abort(new IOException(why));
        }
    }

    private void abort(Throwable cause) {
        failed(cause);
        CompletableFuture<?> sending = running;
        if (sending != null) {
            cancel(sending);
        }
    }

    private void failed(Throwable failure) {
        Throwable cause = ExchangeEnd.unwrap(failure);
        Body open = body;
        if (open == null || !open.stream) {
            end.complete(new ExchangeEnd.NoAnswer(cause, sent(cause)));
        }
        if (open != null) {
            open.abort(cause);
        }
    }

    /** Breaks the connection, unless the answer was read to its end: then it may carry another exchange by now. */
    private void cancel(CompletableFuture<?> sending) {
        Body open = body;
        if (open == null || !open.read) {
            sending.cancel(true);
        }
    }

    private boolean sent(Throwable cause) {
        boolean unconnected = cause instanceof ConnectException
                || cause instanceof HttpConnectTimeoutException
                || cause instanceof UnresolvedAddressException;
        return !unconnected
                && request.bodyPublisher()
                        .map(publisher -> !(publisher instanceof MarkedBody mark) || mark.sent())
                        .orElse(true);
    }

    /** The body of one response. What is no stream of events is kept as one message until it is whole. */
    private final class Body implements BodySubscriber<ExchangeEnd> {
        private final ResponseInfo head;
        private final boolean stream;
        private final Queue<SseEvent> events = new ArrayDeque<>(2);
        private final SseParser parser;
        private final ByteBudget.Reader room;
        private final HeartbeatWatch.Rhythm rhythm = new HeartbeatWatch.Rhythm(watch);
        /** Completes when the last byte has come, or never will, and all events were handed over. */
        private final CompletableFuture<ExchangeEnd> done = new CompletableFuture<>();
        /** The first cause of the end. What is told later came of it: some senders tell of a cancellation while it is made. */
        private final AtomicReference<@Nullable ExchangeEnd> how = new AtomicReference<>();

        private final AtomicReference<@Nullable Future<?>> check = new AtomicReference<>();
        private volatile CompletableFuture<Void> handover = CompletableFuture.completedFuture(null);
        private volatile Flow.@Nullable Subscription subscription;
        /** When the connection began to owe us bytes, by {@link System#nanoTime}; zero while it is not read. */
        private volatile long waitingSince;

        /** The last byte has come: the connection may carry another exchange by now. */
        private volatile boolean read;

        /** Whether a part of an event has come whose rest has not. */
        private volatile boolean begun;

        private volatile boolean first = true;
        private long retry = -1;

        private Body(ResponseInfo head, boolean stream) {
            this.head = head;
            this.stream = stream;
            this.parser =
                    stream ? new SseParser(messageBytes, events::add) : SseParser.whole(messageBytes, events::add);
            this.room = resources.reader(HttpExchange.this::abort);
            if (stream) {
                done.whenComplete((ended, failure) -> room.close());
            }
        }

        @Override
        public CompletionStage<ExchangeEnd> getBody() {
            return done;
        }

        @Override
        public void onSubscribe(Flow.Subscription started) {
            subscription = started;
            more();
        }

        /** Asks for the next bytes once there is room for them; until then the connection owes us nothing. */
        private void more() {
            room.hold(parser.kept(), this::ask);
        }

        private void ask() {
            Flow.Subscription open = subscription;
            if (open != null && !done.isDone()) {
                waitingSince = System.nanoTime() | 1;
                long limit = limit();
                if (limit != HeartbeatWatch.UNLIMITED && check.get() == null) {
                    checkIn(limit);
                }
                open.request(1);
            }
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            long silence = System.nanoTime() - waitingSince;
            waitingSince = 0;
            try {
                for (ByteBuffer buffer : buffers) {
                    parser.read(buffer);
                }
            } catch (OversizedEventException e) {
                oversized(e);
                return;
            }
            if (stream) {
                begun = parser.kept() > 0;
                learn(silence);
                parser.retry().ifPresent(this::stated);
            }
            if (events.isEmpty()) {
                more();
            } else {
                handOver();
            }
        }

        private void oversized(OversizedEventException e) {
            if (!events.isEmpty()) {
                handOver();
            }
            if (stream) {
                abort(e);
            } else {
                done.completeExceptionally(e);
                cancelSubscription();
            }
        }

        private void learn(long silence) {
            boolean commented = parser.commented();
            rhythm.bytes(silence, commented, parser.betweenLines());
            if (first) {
                SseEvent opening = events.peek();
                if (commented || (opening != null && opening.data().length == 0)) {
                    watch.headBeforeMessage();
                }
                first = false;
            }
        }

        private void stated(long millis) {
            if (millis != retry) {
                retry = millis;
                handler.retry(millis);
            }
        }

        private void handOver() {
            CompletableFuture<Void> over = new CompletableFuture<>();
            handover = over;
            room.passing();
            try {
                resources.delivery().execute(() -> next(over));
            } catch (RejectedExecutionException e) {
                abort(e);
                over.complete(null);
            }
        }

        /** Hands over one event after the other. */
        private void next(CompletableFuture<Void> over) {
            for (SseEvent event = events.poll(); event != null; event = events.poll()) {
                CompletableFuture<Void> taken;
                try {
                    taken = handler.event(event).toCompletableFuture();
                } catch (RuntimeException | Error e) {
                    taken = CompletableFuture.failedFuture(e);
                }
                if (!taken.isDone() || taken.isCompletedExceptionally()) {
                    taken.whenComplete((nothing, failure) -> goOn(failure, over));
                    return;
                }
            }
            over.complete(null);
            room.give();
            more();
        }

        private void goOn(@Nullable Throwable failure, CompletableFuture<Void> over) {
            if (failure != null) {
                abort(failure);
                over.complete(null);
            } else {
                resources.delivery().execute(() -> next(over));
            }
        }

        @Override
        public void onError(Throwable failure) {
            if (stream) {
                finish(new ExchangeEnd.StreamBroken(failure));
            } else {
                abort(failure);
                done.completeExceptionally(failure);
            }
        }

        @Override
        public void onComplete() {
            boolean message = parser.end();
            if (stream) {
                read = true;
                // what came before may be on its way still, and goes on by itself
                if (message) {
                    handOver();
                }
                finish(new ExchangeEnd.StreamEnded());
            } else {
                room.passing();
                cancelCheck();
                SseEvent whole = events.poll();
                boolean readable =
                        whole != null && ExchangeEnd.coding(head.headers()).isEmpty();
                read = true;
                done.complete(
                        new ExchangeEnd.Answer(head.statusCode(), head.headers(), readable ? whole.data() : NOTHING));
            }
        }

        private boolean busy(long nanos) {
            long since = waitingSince;
            return since == 0 || (begun && System.nanoTime() - since < nanos);
        }

        /** Breaks it from this side. What is not handed over yet is given up if nobody wants it any more. */
        private void abort(Throwable cause) {
            if (!stream) {
                cancelCheck();
                room.close();
                return;
            }
            ExchangeEnd broken = new ExchangeEnd.StreamBroken(cause);
            boolean first = how.compareAndSet(null, broken);
            if (!read) {
                cancelSubscription();
            }
            if (cause instanceof AbortedException) {
                cancelCheck();
                done.complete(broken);
            } else if (first) {
                endBehindHandover(broken);
            }
        }

        private void cancelSubscription() {
            Flow.Subscription open = subscription;
            if (open != null) {
                open.cancel();
            }
        }

        private void finish(ExchangeEnd cause) {
            if (how.compareAndSet(null, cause)) {
                endBehindHandover(cause);
            }
        }

        private void endBehindHandover(ExchangeEnd cause) {
            cancelCheck();
            handover.whenComplete((nothing, failure) -> done.complete(cause));
        }

        /** How long it may be silent, in nanoseconds. */
        private long limit() {
            return stream ? watch.streamLimit() : watch.bodyLimit();
        }

        private void checkIn(long nanos) {
            check.set(resources.clock().schedule(this::checkSilence, nanos, TimeUnit.NANOSECONDS));
            if (done.isDone()) {
                cancelCheck();
            }
        }

        private void checkSilence() {
            if (done.isDone()) {
                return;
            }
            long limit = limit();
            long since = waitingSince;
            long silent = since == 0 ? 0 : System.nanoTime() - since;
            if (silent < limit) {
                checkIn(limit - silent);
                return;
            }
            if (stream && first) {
                watch.brokenInVain();
            }
            HttpExchange.this.abort(new SilenceException(silent));
        }

        private void cancelCheck() {
            Future<?> pending = check.getAndSet(null);
            if (pending != null) {
                pending.cancel(false);
            }
        }
    }
}
