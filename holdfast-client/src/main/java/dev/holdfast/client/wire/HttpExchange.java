package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.channels.UnresolvedAddressException;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One request and what comes back, be it an answer or a stream of events. No thread waits for it. */
public final class HttpExchange {
    private static final int MOST_REDIRECTS = 5;
    private static final byte[] NOTHING = {};

    private final Means means;
    private final HttpRequest request;
    private final int messageBytes;
    private final HeartbeatWatch watch;
    private final StreamHandler handler;
    private final CompletableFuture<ExchangeEnd> end = new CompletableFuture<>();
    private volatile @Nullable CompletableFuture<?> running;
    private volatile @Nullable StreamBody stream;
    private volatile boolean headSeen;
    /** Of the answer that is no stream, and is being read. */
    private volatile ByteBudget.@Nullable Reader room;
    /** An answer that is no stream was read to its end. */
    private volatile ExchangeEnd.@Nullable Answer answer;

    /**
     * An exchange that has not begun.
     *
     * @param messageBytes so many bytes a message may have
     * @param handler takes the events, if a stream comes
     */
    public HttpExchange(
            Means means, HttpRequest request, int messageBytes, HeartbeatWatch watch, StreamHandler handler) {
        this.means = means;
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
        watchHead(Math.min(nanos, watch.headLimit()));
        return end;
    }

    private void send(HttpRequest next, int redirects) {
        CompletableFuture<?> sending;
        try {
            sending = means.http().send(next, this::body);
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
            ExchangeEnd.Answer whole = answer;
            if (failure != null) {
                failed(unwrap(failure));
            } else if (whole != null) {
                answered(next, whole, redirects);
            }
        });
    }

    /** What the answer took is free again: whoever waited for it has it, or nobody does. */
    private void giveRoom() {
        ByteBudget.Reader held = room;
        if (held != null) {
            held.close();
        }
    }

    /** A stream of events says itself how it ended. */
    private void answered(HttpRequest asked, ExchangeEnd.Answer whole, int redirects) {
        Optional<HttpRequest> next = redirects == 0 || end.isDone()
                ? Optional.empty()
                : means.redirects().followed(asked, whole.status(), whole.headers());
        if (next.isPresent()) {
            giveRoom();
            headSeen = false;
            answer = null;
            send(next.get(), redirects - 1);
        } else {
            end.complete(whole);
            giveRoom();
        }
    }

    /** How it ends. */
    public CompletableFuture<ExchangeEnd> end() {
        return end;
    }

    /**
     * Whether what comes on its stream, if one has come, is held back here, or an event is on its way.
     *
     * @param nanos how long nothing may have come of such an event
     */
    public boolean busy(long nanos) {
        StreamBody open = stream;
        return open != null && open.busy(nanos);
    }

    /** Ends it from this side. */
    public void abort(String why) {
        abort(new AbortedException(why));
    }

    private void failed(Throwable cause) {
        StreamBody open = stream;
        if (open == null) {
            end.complete(new ExchangeEnd.NoAnswer(cause, sent(cause)));
            giveRoom();
        } else {
            open.abort(cause);
        }
    }

    private void abort(Throwable cause) {
        failed(cause);
        CompletableFuture<?> sending = running;
        if (sending != null) {
            cancel(sending);
        }
    }

    /** Breaks the connection, unless the answer was read to its end: then it may carry another exchange by now. */
    private void cancel(CompletableFuture<?> sending) {
        StreamBody open = stream;
        if (answer == null && (open == null || !open.read())) {
            sending.cancel(true);
        }
    }

    private void watchHead(long limit) {
        if (limit != HeartbeatWatch.UNLIMITED) {
            Future<?> check = means.clock().schedule(() -> checkHead(limit), limit, TimeUnit.NANOSECONDS);
            end.whenComplete((how, failure) -> check.cancel(false));
        }
    }

    private void checkHead(long limit) {
        if (!headSeen) {
            abort(new SilenceException(limit));
        }
    }

    private BodySubscriber<ExchangeEnd> body(ResponseInfo head) {
        headSeen = true;
        int status = head.statusCode();
        String type = head.headers().firstValue("content-type").orElse("").toLowerCase(Locale.ROOT);
        boolean coded = !ExchangeEnd.coding(head.headers()).isEmpty();
        boolean events = status / 100 == 2 && type.startsWith("text/event-stream");
        if (events && coded) {
            // nobody can read it, and it may last
            end.complete(new ExchangeEnd.Answer(status, head.headers(), NOTHING));
            abort("the stream has a content coding");
            return BodySubscribers.replacing(new ExchangeEnd.StreamEnded());
        }
        if (events) {
            StreamBody body = new StreamBody(means, messageBytes, watch, handler);
            stream = body;
            body.getBody().whenComplete((how, failure) -> end.complete(how));
            handler.opened(head.headers());
            if (end.isDone()) {
                body.abort(new AbortedException("not wanted any more"));
            }
            return body;
        }
        ByteBudget.Reader share = means.reader(this::abort);
        room = share;
        if (end.isDone()) {
            share.close();
        }
        WholeBody whole = new WholeBody(messageBytes, share);
        watchBody(whole, watch.bodyLimit());
        return BodySubscribers.mapping(
                whole, bytes -> answer = new ExchangeEnd.Answer(status, head.headers(), coded ? NOTHING : bytes));
    }

    private void watchBody(WholeBody body, long limit) {
        if (limit == HeartbeatWatch.UNLIMITED) {
            return;
        }
        long left = limit - body.silence();
        if (left > 0) {
            Future<?> check = means.clock().schedule(() -> watchBody(body, limit), left, TimeUnit.NANOSECONDS);
            body.getBody().whenComplete((whole, failure) -> check.cancel(false));
        } else if (!body.getBody().toCompletableFuture().isDone()) {
            abort(new SilenceException(limit));
        }
    }

    private boolean sent(Throwable cause) {
        boolean unconnected = cause instanceof ConnectException
                || cause instanceof HttpConnectTimeoutException
                || cause instanceof UnresolvedAddressException;
        return !unconnected
                && request.bodyPublisher()
                        .map(body -> !(body instanceof MarkedBody mark) || mark.sent())
                        .orElse(true);
    }

    private static Throwable unwrap(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof CompletionException && cause != null ? cause : failure;
    }
}
