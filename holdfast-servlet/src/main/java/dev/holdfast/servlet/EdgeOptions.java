package dev.holdfast.servlet;

import dev.holdfast.Lifetime;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Every knob of the edge. Immutable: each {@code with} method returns a changed copy.
 *
 * @param heartbeatInterval how long a connection may be silent before a comment is written on it, 100 ms to 1 hour. Shorter
 *     than the idle timeout of every hop to the client. Default 15 s
 * @param retryInterval what every stream tells the client to wait before it reconnects, 0 to 1 hour. A TypeScript client tries
 *     twice, this far apart: it survives an outage of about twice this. Default 2 s
 * @param maxConnectionAge after this a stream's connection is ended in order, so that the client comes back before a proxy cuts
 *     it, with up to 10 % of jitter; zero for never, else at least 1 s. Default zero
 * @param stallDeadline how long a peer may refuse to take bytes before its connection is ended, 100 ms to 1 hour. Default 30 s
 * @param maxRequestSize bytes of a request body, at least 1; a larger one gets 413. A body may also be nested 200 levels deep
 *     and hold 100 messages at most, see {@link EnvelopeReader}. Default 4 MiB
 * @param maxRequestBytes bytes of all request bodies that are on their way at once, at least 1; never less than four thirds of
 *     what one body may have. Beyond that, 503. A quarter of it is for the first 8 KiB of each body alone, so that large bodies
 *     do not keep small ones out. Default an eighth of the JVM's maximum heap, at least 8 MiB
 * @param requestDeadline how long a request body may take to arrive whole, 100 ms to 1 hour; after that, 408. Default 30 s
 * @param allowedHosts the host names a client may use, as {@code name} or {@code name:port}; {@code *} for any. Without being
 *     listed, a server on a loopback address is reached by the loopback names, one on any other address by its address only: a
 *     name that nobody listed may be one that a page in a browser has rebound to it. Default none
 * @param allowedOrigins the origins browsers may come from beside the server's own and, where it is reached by a loopback
 *     address, those of loopback names; as {@code scheme://name:port}, with {@code :*} for any port; {@code *} for any.
 *     Default none
 * @param authenticator who asks. Default {@link Authenticator#SERVLET}
 * @param allowDelete whether a client may end its session. Default yes
 * @param lifetime how long sessions live without a connection. Default {@link Lifetime#DEFAULT}
 * @param connectionReset how to reset the connection of a peer that is stuck. Default {@link ConnectionReset#NONE}
 * @param context what to attach to the messages of a request for the backend, taken on the request's thread. Default nothing
 * @param httpSse HTTP+SSE beside Streamable HTTP, for clients of 2024-11-05. Default not
 */
public record EdgeOptions(
        Duration heartbeatInterval,
        Duration retryInterval,
        Duration maxConnectionAge,
        Duration stallDeadline,
        int maxRequestSize,
        long maxRequestBytes,
        Duration requestDeadline,
        List<String> allowedHosts,
        List<String> allowedOrigins,
        Authenticator authenticator,
        boolean allowDelete,
        Lifetime lifetime,
        ConnectionReset connectionReset,
        Function<HttpServletRequest, Object> context,
        Optional<HttpSseOptions> httpSse) {

    private static final Duration HOUR = Duration.ofHours(1);

    /** The defaults named above. */
    public static final EdgeOptions DEFAULT = new EdgeOptions(
            Duration.ofSeconds(15),
            Duration.ofSeconds(2),
            Duration.ZERO,
            Duration.ofSeconds(30),
            4 << 20,
            Math.max(8 << 20, Runtime.getRuntime().maxMemory() / 8),
            Duration.ofSeconds(30),
            List.of(),
            List.of(),
            Authenticator.SERVLET,
            true,
            Lifetime.DEFAULT,
            ConnectionReset.NONE,
            request -> InboundMessage.NO_CONTEXT,
            Optional.empty());

    public EdgeOptions {
        requireRange("heartbeatInterval", heartbeatInterval, Duration.ofMillis(100));
        requireRange("retryInterval", retryInterval, Duration.ZERO);
        if (!maxConnectionAge.isZero() && maxConnectionAge.compareTo(Duration.ofSeconds(1)) < 0) {
            throw new IllegalArgumentException(
                    "maxConnectionAge must be zero (never) or at least 1 s, got " + maxConnectionAge);
        }
        requireRange("stallDeadline", stallDeadline, Duration.ofMillis(100));
        if (maxRequestSize < 1) {
            throw new IllegalArgumentException("maxRequestSize must be at least 1, got " + maxRequestSize);
        }
        if (maxRequestBytes < 1) {
            throw new IllegalArgumentException("maxRequestBytes must be at least 1, got " + maxRequestBytes);
        }
        requireRange("requestDeadline", requestDeadline, Duration.ofMillis(100));
        allowedHosts = List.copyOf(allowedHosts);
        allowedOrigins = List.copyOf(allowedOrigins);
    }

    private static void requireRange(String name, Duration value, Duration least) {
        if (value.compareTo(least) < 0 || value.compareTo(HOUR) > 0) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + HOUR + ", got " + value);
        }
    }

    /** The same with another {@link #heartbeatInterval}. */
    public EdgeOptions withHeartbeatInterval(Duration value) {
        return with(draft -> draft.heartbeatInterval = value);
    }

    /** The same with another {@link #retryInterval}. */
    public EdgeOptions withRetryInterval(Duration value) {
        return with(draft -> draft.retryInterval = value);
    }

    /** The same with another {@link #maxConnectionAge}. */
    public EdgeOptions withMaxConnectionAge(Duration value) {
        return with(draft -> draft.maxConnectionAge = value);
    }

    /** The same with another {@link #stallDeadline}. */
    public EdgeOptions withStallDeadline(Duration value) {
        return with(draft -> draft.stallDeadline = value);
    }

    /** The same with another {@link #maxRequestSize}. */
    public EdgeOptions withMaxRequestSize(int value) {
        return with(draft -> draft.maxRequestSize = value);
    }

    /** The same with another {@link #maxRequestBytes}. */
    public EdgeOptions withMaxRequestBytes(long value) {
        return with(draft -> draft.maxRequestBytes = value);
    }

    /** The same with another {@link #requestDeadline}. */
    public EdgeOptions withRequestDeadline(Duration value) {
        return with(draft -> draft.requestDeadline = value);
    }

    /** The same with another {@link #allowedHosts}. */
    public EdgeOptions withAllowedHosts(List<String> value) {
        return with(draft -> draft.allowedHosts = value);
    }

    /** The same with another {@link #allowedOrigins}. */
    public EdgeOptions withAllowedOrigins(List<String> value) {
        return with(draft -> draft.allowedOrigins = value);
    }

    /** The same with another {@link #authenticator}. */
    public EdgeOptions withAuthenticator(Authenticator value) {
        return with(draft -> draft.authenticator = value);
    }

    /** The same with another {@link #allowDelete}. */
    public EdgeOptions withAllowDelete(boolean value) {
        return with(draft -> draft.allowDelete = value);
    }

    /** The same with another {@link #lifetime}. */
    public EdgeOptions withLifetime(Lifetime value) {
        return with(draft -> draft.lifetime = value);
    }

    /** The same with another {@link #connectionReset}. */
    public EdgeOptions withConnectionReset(ConnectionReset value) {
        return with(draft -> draft.connectionReset = value);
    }

    /** The same with another {@link #context}. */
    public EdgeOptions withContext(Function<HttpServletRequest, Object> value) {
        return with(draft -> draft.context = value);
    }

    /** The same with another {@link #httpSse}. */
    public EdgeOptions withHttpSse(Optional<HttpSseOptions> value) {
        return with(draft -> draft.httpSse = value);
    }

    private EdgeOptions with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.done();
    }

    /** A copy on its way to be another. */
    private static final class Draft {
        private Duration heartbeatInterval;
        private Duration retryInterval;
        private Duration maxConnectionAge;
        private Duration stallDeadline;
        private int maxRequestSize;
        private long maxRequestBytes;
        private Duration requestDeadline;
        private List<String> allowedHosts;
        private List<String> allowedOrigins;
        private Authenticator authenticator;
        private boolean allowDelete;
        private Lifetime lifetime;
        private ConnectionReset connectionReset;
        private Function<HttpServletRequest, Object> context;
        private Optional<HttpSseOptions> httpSse;

        private Draft(EdgeOptions from) {
            heartbeatInterval = from.heartbeatInterval;
            retryInterval = from.retryInterval;
            maxConnectionAge = from.maxConnectionAge;
            stallDeadline = from.stallDeadline;
            maxRequestSize = from.maxRequestSize;
            maxRequestBytes = from.maxRequestBytes;
            requestDeadline = from.requestDeadline;
            allowedHosts = from.allowedHosts;
            allowedOrigins = from.allowedOrigins;
            authenticator = from.authenticator;
            allowDelete = from.allowDelete;
            lifetime = from.lifetime;
            connectionReset = from.connectionReset;
            context = from.context;
            httpSse = from.httpSse;
        }

        private EdgeOptions done() {
            return new EdgeOptions(
                    heartbeatInterval,
                    retryInterval,
                    maxConnectionAge,
                    stallDeadline,
                    maxRequestSize,
                    maxRequestBytes,
                    requestDeadline,
                    allowedHosts,
                    allowedOrigins,
                    authenticator,
                    allowDelete,
                    lifetime,
                    connectionReset,
                    context,
                    httpSse);
        }
    }
}
