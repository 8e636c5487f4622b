package dev.holdfast.servlet;

import dev.holdfast.Lifetime;
import dev.holdfast.Refusal;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.guard.RequestHeaders;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HTTP+SSE: a GET opens a session and stays its one stream, POSTs to the path that it names are answered 202, and their results
 * come by the GET.
 *
 * <p>Without a grace period a session ends with its GET, and a POST to an ended session gets 404. No container tells that an
 * idle peer has left, so a POST is taken only if the peer took bytes just now, or is found to take them.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse">MCP transports, HTTP
 *     with SSE</a>
 */
final class HttpSse implements Face {
    private final FaceContext context;
    private static final Logger logger = LoggerFactory.getLogger(HttpSse.class);

    private final HttpSseOptions sse;
    private final HttpSseStreams streams;
    private final HttpSsePosts posting;
    private final PostHandler posts;

    HttpSse(FaceContext context, HttpSseOptions sse, HttpSsePeers peers) {
        this.context = context;
        this.sse = sse;
        this.posting = new HttpSsePosts(context, peers, absent(context, sse));
        this.streams = new HttpSseStreams(context, sse, lifetime(context, sse), posting.sessions(), peers);
        this.posts =
                new PostHandler(posting, posting.sessions(), context.options().context());
    }

    /** A session that ends with its stream is on the node of the stream alone, where others may get its messages. */
    private static Rejection absent(FaceContext context, HttpSseOptions sse) {
        if (!sse.reconnectGrace().isZero() || !context.engine().sharesSessions()) {
            return Rejection.of(Refusal.UNKNOWN_SESSION);
        }
        logger.info("over HTTP+SSE only the node of a session's stream serves it: set a reconnect grace period for"
                + " HTTP+SSE (--sse-reconnect-grace, holdfast.sse.reconnect-grace-period) to serve it on each node");
        return Rejection.of(
                Refusal.UNKNOWN_SESSION,
                404,
                JsonRpc.SESSION_NOT_FOUND,
                "session not found: over HTTP+SSE only the node of its stream has it; open a new stream");
    }

    /** The grace period after a connection that broke holds for one that ended in order too. */
    private static Lifetime lifetime(FaceContext context, HttpSseOptions sse) {
        Lifetime lifetime = context.options().lifetime().withGrace(sse.reconnectGrace());
        return sse.reconnectGrace().isZero() ? lifetime : lifetime.withIdle(sse.reconnectGrace());
    }

    @Override
    public boolean serves(HttpServletRequest request) {
        String path = Exchange.path(request);
        return path.endsWith(sse.path()) || path.endsWith(sse.messagePath());
    }

    @Override
    public String methods(HttpServletRequest request) {
        return listens(request) ? "GET" : "POST";
    }

    private boolean listens(HttpServletRequest request) {
        return Exchange.path(request).endsWith(sse.path());
    }

    /** The URL of a POST holds the session id: it must not go to other sites. */
    @Override
    public void prepare(HttpServletResponse response) {
        response.setHeader("Referrer-Policy", "no-referrer");
    }

    @Override
    public Step serve(Exchange exchange) {
        boolean listens = listens(exchange.request());
        Optional<Rejection> rejection = listens ? checkGet(exchange) : checkPost(exchange);
        if (rejection.isPresent()) {
            return exchange.turnAway(rejection.get());
        }
        return listens ? streams.get(exchange) : posts.receive(exchange);
    }

    private Optional<Rejection> checkGet(Exchange exchange) {
        RequestHeaders headers = exchange.headers();
        return RequestGuard.checkMethod("GET", headers)
                .or(() -> context.guard().checkGet(headers))
                .or(() -> RequestGuard.checkRevision(headers));
    }

    private Optional<Rejection> checkPost(Exchange exchange) {
        return RequestGuard.checkMethod("POST", exchange.headers())
                .or(() -> context.guard().checkBody(exchange.headers()));
    }

    @Override
    public void stop() {
        posting.stop();
    }
}
