package dev.holdfast.servlet;

import dev.holdfast.Lifetime;
import dev.holdfast.Quota;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.servlet.guard.OriginPolicy;
import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/** Every knob of the edge, as its {@link Builder} has set it. Immutable. */
public final class EdgeOptions {
    private static final Duration HOUR = Duration.ofHours(1);

    /** The defaults that the {@link Builder} names. */
    public static final EdgeOptions DEFAULT = builder().build();

    private final Builder knobs;

    private EdgeOptions(Builder knobs) {
        this.knobs = knobs;
    }

    /** A builder with every default. */
    public static Builder builder() {
        return new Builder();
    }

    /** A builder that begins with these values. */
    public Builder toBuilder() {
        return knobs.copy();
    }

    /** See {@link Builder#heartbeatInterval}. */
    public Duration heartbeatInterval() {
        return knobs.heartbeatInterval;
    }

    /** See {@link Builder#retryInterval}. */
    public Duration retryInterval() {
        return knobs.retryInterval;
    }

    /** See {@link Builder#maxConnectionAge}. */
    public Duration maxConnectionAge() {
        return knobs.maxConnectionAge;
    }

    /** See {@link Builder#stallDeadline}. */
    public Duration stallDeadline() {
        return knobs.stallDeadline;
    }

    /** See {@link Builder#maxRequestSize}. */
    public int maxRequestSize() {
        return knobs.maxRequestSize;
    }

    /** See {@link Builder#maxRequestBytes}. */
    public long maxRequestBytes() {
        return knobs.maxRequestBytes;
    }

    /** See {@link Builder#requestDeadline}. */
    public Duration requestDeadline() {
        return knobs.requestDeadline;
    }

    /** See {@link Builder#allowedHosts}. */
    public List<String> allowedHosts() {
        return knobs.allowedHosts;
    }

    /** See {@link Builder#allowedOrigins}. */
    public List<String> allowedOrigins() {
        return knobs.allowedOrigins;
    }

    /** See {@link Builder#authenticator}. */
    public Authenticator authenticator() {
        return knobs.authenticator;
    }

    /** See {@link Builder#allowDelete}. */
    public boolean allowDelete() {
        return knobs.allowDelete;
    }

    /** See {@link Builder#lifetime}. */
    public Lifetime lifetime() {
        return knobs.lifetime;
    }

    /** See {@link Builder#connectionReset}. */
    public ConnectionReset connectionReset() {
        return knobs.connectionReset;
    }

    /** See {@link Builder#peerWatch}. */
    public PeerWatch peerWatch() {
        return knobs.peerWatch;
    }

    /** See {@link Builder#context}. */
    public Function<HttpServletRequest, Object> context() {
        return knobs.context;
    }

    /** See {@link Builder#connections}. */
    public Optional<Quota> connections() {
        return knobs.connections;
    }

    /** See {@link Builder#protocols}. */
    public Protocols protocols() {
        return knobs.protocols;
    }

    /** See {@link Builder#isolation}. */
    public Isolation isolation() {
        return knobs.isolation;
    }

    /** See {@link Builder#taskAfter}. */
    public Duration taskAfter() {
        return knobs.taskAfter;
    }

    /** See {@link Builder#taskRetention}. */
    public Duration taskRetention() {
        return knobs.taskRetention;
    }

    /** See {@link Builder#httpSse}. */
    public Optional<HttpSseOptions> httpSse() {
        return knobs.httpSse;
    }

    private static Duration requireRange(String name, Duration value, Duration least) {
        if (value.compareTo(least) < 0 || value.compareTo(HOUR) > 0) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + HOUR + ", got " + value);
        }
        return value;
    }

    private static void requirePositive(String name, long value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be at least 1, got " + value);
        }
    }

    /** Sets knobs; each throws {@link IllegalArgumentException} if the value is out of its range. For one thread at a time. */
    public static final class Builder implements Cloneable {
        private Duration heartbeatInterval = Duration.ofSeconds(15);
        private Duration retryInterval = Duration.ofSeconds(2);
        private Duration maxConnectionAge = Duration.ZERO;
        private Duration stallDeadline = Duration.ofSeconds(30);
        private int maxRequestSize = 4 << 20;
        private long maxRequestBytes = Math.max(8 << 20, Runtime.getRuntime().maxMemory() / 4);
        private Duration requestDeadline = Duration.ofSeconds(30);
        private List<String> allowedHosts = List.of();
        private List<String> allowedOrigins = List.of();
        private Authenticator authenticator = Authenticator.SERVLET;
        private boolean allowDelete = true;
        private Lifetime lifetime = Lifetime.DEFAULT;
        private ConnectionReset connectionReset = ConnectionReset.NONE;
        private PeerWatch peerWatch = PeerWatch.NONE;
        private Function<HttpServletRequest, Object> context = request -> InboundMessage.NO_CONTEXT;
        private Protocols protocols = Protocols.BOTH;
        private Isolation isolation = Isolation.REQUEST;
        private Duration taskAfter = Duration.ofSeconds(5);
        private Duration taskRetention = Duration.ofHours(1);
        private Optional<HttpSseOptions> httpSse = Optional.empty();
        private Optional<Quota> connections = Optional.empty();

        private Builder() {}

        /**
         * How long a connection may be silent before a comment is written on it, 100 ms to 1 hour. Shorter than the idle
         * timeout of every hop to the client. Default 15 s.
         */
        public Builder heartbeatInterval(Duration value) {
            heartbeatInterval = requireRange("heartbeatInterval", value, Duration.ofMillis(100));
            return this;
        }

        /**
         * What every stream tells the client to wait before it reconnects, 0 to 1 hour. A TypeScript client tries twice,
         * this far apart: it survives an outage of about twice this. Default 2 s.
         */
        public Builder retryInterval(Duration value) {
            retryInterval = requireRange("retryInterval", value, Duration.ZERO);
            return this;
        }

        /**
         * After this a stream's connection is ended in order, so that the client comes back before a proxy cuts it, with up
         * to 10 % of jitter; zero for never, else at least 1 s. Default zero.
         */
        public Builder maxConnectionAge(Duration value) {
            if (!value.isZero() && value.compareTo(Duration.ofSeconds(1)) < 0) {
                throw new IllegalArgumentException(
                        "maxConnectionAge must be zero (never) or at least 1 s, got " + value);
            }
            maxConnectionAge = value;
            return this;
        }

        /** How long a peer may refuse to take bytes before its connection is ended, 100 ms to 1 hour. Default 30 s. */
        public Builder stallDeadline(Duration value) {
            stallDeadline = requireRange("stallDeadline", value, Duration.ofMillis(100));
            return this;
        }

        /**
         * Bytes of a request body, at least 1; a larger one gets 413. A body may also be nested 200 levels deep and hold 100
         * messages at most, see {@link EnvelopeReader}. Default 4 MiB.
         */
        public Builder maxRequestSize(int value) {
            requirePositive("maxRequestSize", value);
            maxRequestSize = value;
            return this;
        }

        /**
         * Bytes of memory that all requests may take at once, at least 1: each from the first byte of its body until its call is
         * answered, and as many as {@link dev.holdfast.spi.Backend#requestMemory} says, so that a body of the SDK's server counts for
         * four times its bytes and 104 for each JSON token. Beyond that, 503; a request that takes more than three quarters of it gets
         * 413. The last quarter is for requests of up to 64 KiB, so that large ones do not keep them out. Default a quarter of the
         * JVM's maximum heap, at least 8 MiB.
         */
        public Builder maxRequestBytes(long value) {
            requirePositive("maxRequestBytes", value);
            maxRequestBytes = value;
            return this;
        }

        /** How long a request body may take to arrive whole, 100 ms to 1 hour; after that, 408. Default 30 s. */
        public Builder requestDeadline(Duration value) {
            requestDeadline = requireRange("requestDeadline", value, Duration.ofMillis(100));
            return this;
        }

        /**
         * The host names a client may use, as {@code name}, which means every port, {@code name:port} or {@code name:*}; {@code *} for
         * any. Without being listed, a server on a loopback address is reached by the loopback names, one on any other address by any
         * address, never by a name: one that nobody listed may be one that a page in a browser has rebound to it. Default none.
         *
         * @throws IllegalArgumentException if an entry has another form; names the entry
         */
        public Builder allowedHosts(List<String> value) {
            allowedHosts = OriginPolicy.hosts("allowedHosts", value);
            return this;
        }

        /**
         * The origins browsers may come from beside the server's own and, where it is reached by a loopback address, those
         * of loopback names; as {@code scheme://name:port}. Without a port that of the scheme; for http and https {@code :*} for any
         * port; {@code null} for pages without an origin; {@code *} for any. Default none.
         *
         * @throws IllegalArgumentException if an entry has another form; names the entry
         */
        public Builder allowedOrigins(List<String> value) {
            allowedOrigins = OriginPolicy.origins("allowedOrigins", value);
            return this;
        }

        /** Tells which principal sends a request. Default {@link Authenticator#SERVLET}. */
        public Builder authenticator(Authenticator value) {
            authenticator = Objects.requireNonNull(value, "authenticator");
            return this;
        }

        /** Whether a client may end its session by DELETE; if not, that gets 405. Default yes. */
        public Builder allowDelete(boolean value) {
            allowDelete = value;
            return this;
        }

        /** How long sessions live without a connection. Default {@link Lifetime#DEFAULT}. */
        public Builder lifetime(Lifetime value) {
            lifetime = Objects.requireNonNull(value, "lifetime");
            return this;
        }

        /** How to reset the connection of a peer that is stuck. Default {@link ConnectionReset#NONE}. */
        public Builder connectionReset(ConnectionReset value) {
            connectionReset = Objects.requireNonNull(value, "connectionReset");
            return this;
        }

        /** How to notice at once that a client has ended the connection of a GET. Default {@link PeerWatch#NONE}. */
        public Builder peerWatch(PeerWatch value) {
            peerWatch = Objects.requireNonNull(value, "peerWatch");
            return this;
        }

        /**
         * What to attach to the messages of a request for the backend, taken on the request's thread. Default nothing.
         */
        public Builder context(Function<HttpServletRequest, Object> value) {
            context = Objects.requireNonNull(value, "context");
            return this;
        }

        /** Which revisions of the protocol are served. Default {@link Protocols#BOTH}. */
        public Builder protocols(Protocols value) {
            protocols = Objects.requireNonNull(value, "protocols");
            return this;
        }

        /**
         * Which requests of a revision without sessions share one connection to the backend. Default {@link Isolation#REQUEST}.
         */
        public Builder isolation(Isolation value) {
            isolation = Objects.requireNonNull(value, "isolation");
            return this;
        }

        /**
         * How long a call of a tool runs before its client gets a task in the place of its result, if it takes one; zero to 1 hour.
         * Default 5 s.
         */
        public Builder taskAfter(Duration value) {
            taskAfter = requireRange("taskAfter", value, Duration.ZERO);
            return this;
        }

        /**
         * How long a task is kept beyond the longest time of a call, from the beginning of its call, 1 s to 36,500 days. Default 1 hour.
         */
        public Builder taskRetention(Duration value) {
            if (value.compareTo(Duration.ofSeconds(1)) < 0 || value.compareTo(Duration.ofDays(36_500)) > 0) {
                throw new IllegalArgumentException("taskRetention must be 1 s to 36,500 days, got " + value);
            }
            taskRetention = value;
            return this;
        }

        /** HTTP+SSE beside Streamable HTTP, for clients of 2024-11-05. Default not. */
        public Builder httpSse(Optional<HttpSseOptions> value) {
            httpSse = Objects.requireNonNull(value, "httpSse");
            return this;
        }

        /**
         * Limits the share of the server's connections that one named principal may have. A connection counts from the moment that its
         * request is authenticated until the request is answered, or its stream has ended; beyond the share a request gets 503. Default not
         * counted.
         */
        public Builder connections(Optional<Quota> value) {
            connections = Objects.requireNonNull(value, "connections");
            return this;
        }

        /** Returns the options; this builder may be used again. */
        public EdgeOptions build() {
            if (protocols == Protocols.MODERN && httpSse.isPresent()) {
                throw new IllegalArgumentException(
                        "HTTP+SSE is for clients with sessions, of which protocols MODERN serves none: use BOTH, or no httpSse");
            }
            return new EdgeOptions(copy());
        }

        private Builder copy() {
            try {
                return (Builder) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError("a Builder is Cloneable", e);
            }
        }
    }
}
