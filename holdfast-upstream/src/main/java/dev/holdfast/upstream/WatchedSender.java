package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.json.backend.LogText;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends by another one, and tells the log when a server has not answered for a while, and when it answers again. An answer is a head, but
 * for one by which a proxy says that it does not reach the server. A server that gets no requests is not reported. Thread-safe; where both
 * happens at once, the lines may come in either order.
 */
final class WatchedSender implements HttpSender {
    private static final Logger logger = LoggerFactory.getLogger(WatchedSender.class);
    /** How long requests fail before it is told: a server may restart. */
    private static final Duration TOLD_AFTER = Duration.ofSeconds(5);

    /** Failures further apart than this belong to different outages: a client that waits for a server asks more often. */
    private static final long APART = Duration.ofMinutes(1).toNanos();

    /** Of Cloudflare the last three: the server is down, takes too long to connect, or has no route. */
    private static final Set<Integer> NOT_REACHED = Set.of(502, 503, 504, 521, 522, 523);

    private final HttpSender sender;
    private final URI server;
    private final long toldAfter;
    private volatile boolean fails;
    private long since;
    private long last;
    private boolean told;

    WatchedSender(HttpSender sender, URI server) {
        this(sender, server, TOLD_AFTER);
    }

    WatchedSender(HttpSender sender, URI server, Duration toldAfter) {
        this.sender = sender;
        this.server = server;
        this.toldAfter = toldAfter.toNanos();
    }

    @Override
    public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
        AtomicBoolean headed = new AtomicBoolean();
        CompletableFuture<?> end = sender.send(request, head -> {
            headed.set(true);
            if (!saysNotReached(head)) {
                answered();
            } else if (!isStream(request)) {
                failed("status " + head.statusCode());
            }
            return answer.apply(head);
        });
        end.whenComplete((taken, failure) -> {
            if (failure != null && !headed.get()) {
                broke(request, ExchangeEnd.unwrap(failure));
            }
        });
        return end;
    }

    /** A server that is there may have no room. It says when to come back. */
    private static boolean saysNotReached(ResponseInfo head) {
        return NOT_REACHED.contains(head.statusCode())
                && head.headers().firstValue("Retry-After").isEmpty();
    }

    /** A server may answer a stream with its first message only. That a proxy does not wait for it says nothing of the server. */
    private static boolean isStream(HttpRequest request) {
        return request.method().equals("GET");
    }

    private void broke(HttpRequest request, Throwable failure) {
        if (failure instanceof CancellationException || (isStream(request) && !isOfConnecting(failure))) {
            return;
        }
        failed(LogText.of(failure.toString().getBytes(UTF_8)));
    }

    private static boolean isOfConnecting(Throwable failure) {
        return failure instanceof ConnectException
                || failure instanceof HttpConnectTimeoutException
                || failure instanceof SocketTimeoutException
                || failure instanceof UnknownHostException
                || failure instanceof UnresolvedAddressException;
    }

    private void failed(String cause) {
        synchronized (this) {
            long now = System.nanoTime();
            boolean again = told || (fails && now - last < APART);
            fails = true;
            last = now;
            if (!again) {
                since = now;
            }
            if (!again || told || now - since < toldAfter) {
                return;
            }
            told = true;
        }
        logger.warn("the upstream {} does not answer: {}", shown(), cause);
    }

    private void answered() {
        if (!fails) {
            return;
        }
        Duration silent;
        synchronized (this) {
            fails = false;
            if (!told) {
                return;
            }
            told = false;
            silent = Duration.ofNanos(System.nanoTime() - since);
        }
        logger.info("the upstream {} answers again, after {} s", shown(), silent.toSeconds());
    }

    /** Without path and query, which may hold secrets. */
    private String shown() {
        return server.getScheme() + "://" + server.getRawAuthority();
    }
}
