package dev.holdfast.upstream;

import dev.holdfast.ByteBudget;
import dev.holdfast.client.ClientLimits;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;

/** Every knob of an {@link UpstreamBackend}. */
public final class UpstreamBackendBuilder {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration DAY = Duration.ofDays(1);

    private static final int MOST_PORT = 65_535;

    final URI url;
    UpstreamHttp http = UpstreamHttp.jdk();
    ForwardedHeaders forwarded = ForwardedHeaders.NONE;
    Map<String, String> headers = Map.of();
    Duration openTimeout = Duration.ofSeconds(30);
    ClientLimits limits = ClientLimits.DEFAULT;
    Optional<ScheduledExecutorService> scheduler = Optional.empty();
    ByteBudget budget = ByteBudget.ofHeap();

    UpstreamBackendBuilder(URI url) {
        String authority = url.getRawAuthority();
        if (authority != null && authority.contains("@")) {
            throw new IllegalArgumentException(
                    "url must be as in https://mcp.example/mcp, got one with a user or a password");
        }
        boolean http = "http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme());
        if (!http || url.getHost() == null || url.getRawFragment() != null || url.getPort() > MOST_PORT) {
            throw new IllegalArgumentException("url must be as in https://mcp.example/mcp, got " + url);
        }
        this.url = url;
    }

    /** By which HTTP client the server is reached. Default {@link UpstreamHttp#jdk()}; {@link UpstreamHttp#jetty()} costs less. */
    public UpstreamBackendBuilder http(UpstreamHttp value) {
        http = Objects.requireNonNull(value, "http");
        return this;
    }

    /**
     * The headers of clients' requests that the server gets too. The same object has to be {@code EdgeOptions.Builder#context} of the
     * servlet that serves the sessions. They are not stored, so with any of them a session that comes back from a store waits for its
     * client's next request, and no call is run again after a restart. Default none, not even {@code Authorization}.
     */
    public UpstreamBackendBuilder forward(ForwardedHeaders value) {
        forwarded = Objects.requireNonNull(value, "forwarded");
        return this;
    }

    /**
     * Headers of each request to the server, such as {@code Authorization} with a token of this application's own. They are never logged.
     * Default none.
     *
     * @throws IllegalArgumentException names one that belongs to a connection, such as {@code Host}, or to the protocol, or whose value
     *     is none
     */
    public UpstreamBackendBuilder headers(Map<String, String> value) {
        ForwardedHeaders.named(value.keySet());
        HttpRequest.Builder request = HttpRequest.newBuilder();
        value.forEach((name, text) -> {
            try {
                request.header(name, text);
            } catch (IllegalArgumentException e) {
                // its message shows the value, which may be a secret
                throw new IllegalArgumentException("headers must have values that HTTP allows, got another of " + name);
            }
        });
        headers = Map.copyOf(value);
        return this;
    }

    /** How long the server may take to answer {@code initialize}, 1 ms to 1 hour. Default 30 s. */
    public UpstreamBackendBuilder openTimeout(Duration value) {
        openTimeout = within("openTimeout", Duration.ofMillis(1), value, HOUR);
        return this;
    }

    /** For how long a message is tried to be sent, and a broken stream to be resumed, 0 to 1 day. Default 2 minutes. */
    public UpstreamBackendBuilder patience(Duration value) {
        limits = limits.withRetryTimeout(within("patience", Duration.ZERO, value, DAY));
        return this;
    }

    /**
     * How long a connection may be silent before it counts as broken, a wait for the head of an answer included, 0 to 1 hour. Default 0:
     * three times the rhythm of the server's heartbeats, at least 10 s, and no limit while it has sent none.
     */
    public UpstreamBackendBuilder maxSilence(Duration value) {
        limits = limits.withSilence(within("maxSilence", Duration.ZERO, value, HOUR));
        return this;
    }

    /** How many bytes a message of the server may have, 1 and up; a larger one ends its call with an error. Default 16 MiB. */
    public UpstreamBackendBuilder maxResponseSize(int bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("maxResponseSize must be 1 byte and up, got " + bytes);
        }
        limits = limits.withMessageBytes(bytes);
        return this;
    }

    /**
     * Tells the time; its tasks do not block, and one thread is enough. It stays the caller's to shut down, after the backend. Default: a
     * daemon thread of the backend's own.
     */
    public UpstreamBackendBuilder scheduler(ScheduledExecutorService value) {
        scheduler = Optional.of(value);
        return this;
    }

    /**
     * What messages to the server and from it may take. Give the engine the same one, so that all fits into the heap together. Default: a
     * {@linkplain ByteBudget#ofHeap part of the heap} of its own.
     */
    public UpstreamBackendBuilder budget(ByteBudget value) {
        budget = Objects.requireNonNull(value, "budget");
        return this;
    }

    private static Duration within(String name, Duration least, Duration value, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + most + ", got " + value);
        }
        return value;
    }

    /**
     * Starts the HTTP client; the server is reached when a session opens.
     *
     * @throws IllegalStateException where the client that was chosen is not on the class path, or does not start
     */
    public UpstreamBackend open() {
        return new UpstreamBackend(this);
    }
}
