package dev.holdfast.gateway.upstream;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Requests;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;

/**
 * An MCP server behind a URL, behind every session: each has a session of its own there. Speaks Streamable HTTP, and HTTP+SSE to a
 * server that has nothing else. All sessions share one pool of connections; TLS goes by the trust of the JVM.
 */
public final class UpstreamBackend implements Backend {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    private static final int DEPTH = 1000;

    private final UpstreamOptions options;
    private final ScheduledExecutorService clock;
    private final RemoteServer server;
    private final RepeatRules rules = new RepeatRules();
    private final EnvelopeReader envelopes = new EnvelopeReader(DEPTH, EnvelopeReader.DEFAULT_MAX_BATCH);

    /**
     * A backend for a server.
     *
     * @param clock tells the time; stays the caller's to shut down, as do the threads
     * @param threads where messages of the upstream are taken; needs as many as are busy at once
     */
    public UpstreamBackend(UpstreamOptions options, ScheduledExecutorService clock, Executor threads) {
        this.options = options;
        this.clock = clock;
        HttpClient http = HttpClient.newBuilder()
                .executor(threads)
                .connectTimeout(CONNECT_TIMEOUT)
                .version(
                        options.url().getScheme().equals("https")
                                ? HttpClient.Version.HTTP_2
                                : HttpClient.Version.HTTP_1_1)
                .build();
        this.server = RemoteServer.at(options.url(), http, clock, threads)
                .withRequests(Requests.PLAIN.withCustomizer(
                        (request, method, uri, body, context) -> CompletableFuture.completedFuture(
                                context instanceof ForwardedHeaders headers ? headers.addTo(request) : request)));
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        UpstreamConnection connection =
                new UpstreamConnection(request.principal(), request.incarnation(), rules, sink, envelopes, clock);
        UpstreamOpening opening = new UpstreamOpening(request, connection);
        sink.onAnswer(connection::answer);
        sink.onAbandon(() -> opening.abandon("the client has left"));
        return opening.begin(
                new SessionOpening(server, connection.news(), connection.loss()), options.openTimeout(), clock);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return rules.harmless(principal, request.method(), request.bytes());
    }

    /** What it sends without being asked must not come once for each node. */
    @Override
    public boolean existsOnce() {
        return true;
    }

    @Override
    public boolean needsContext() {
        return !options.forwardedHeaders().isEmpty();
    }
}
