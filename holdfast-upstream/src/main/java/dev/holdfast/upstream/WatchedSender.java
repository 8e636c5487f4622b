package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends by another one, and tells the log when a server has not answered for a while, and when it answers again. An answer is a head, but
 * for one by which a proxy says that it does not reach the server. Of a server that nobody asks nothing is told. Thread-safe.
 */
final class WatchedSender implements HttpSender {
    private static final Logger logger = LoggerFactory.getLogger(WatchedSender.class);
    /** How long requests fail before it is told: a server may restart. */
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** What fails later than this behind the last is something else: whoever waits for a server asks more often. */
    private static final long APART = Duration.ofMinutes(1).toNanos();

    private static final Set<Integer> NOT_REACHED = Set.of(502, 503, 504);

    private final HttpSender sender;
    private final URI server;
    private final long patience;
    private volatile boolean fails;
    private long since;
    private long last;
    private boolean told;

    WatchedSender(HttpSender sender, URI server) {
        this(sender, server, PATIENCE);
    }

    WatchedSender(HttpSender sender, URI server, Duration patience) {
        this.sender = sender;
        this.server = server;
        this.patience = patience.toNanos();
    }

    @Override
    public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
        AtomicBoolean headed = new AtomicBoolean();
        CompletableFuture<?> end = sender.send(request, head -> {
            headed.set(true);
            if (NOT_REACHED.contains(head.statusCode())) {
                failed("status " + head.statusCode());
            } else {
                answered();
            }
            return answer.apply(head);
        });
        end.whenComplete((taken, failure) -> {
            if (failure != null && !headed.get()) {
                broke(request, cause(failure));
            }
        });
        return end;
    }

    private static Throwable cause(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof CompletionException && cause != null ? cause : failure;
    }

    /** A stream that a server answers with its first message only may break before, and says nothing of the server. */
    private void broke(HttpRequest request, Throwable failure) {
        boolean ofTheServer = !request.method().equals("GET") || failure instanceof ConnectException;
        if (ofTheServer && !(failure instanceof CancellationException)) {
            failed(failure.toString());
        }
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
            if (!again || told || now - since < patience) {
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

    /** Without the query, which may be a secret. */
    private String shown() {
        return server.getScheme() + "://" + server.getRawAuthority() + server.getRawPath();
    }
}
