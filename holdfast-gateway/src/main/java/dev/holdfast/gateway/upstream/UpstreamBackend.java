package dev.holdfast.gateway.upstream;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Requests;
import dev.holdfast.client.SessionOpening;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/**
 * An MCP server behind a URL, behind every session: each has a session of its own there. Speaks Streamable HTTP, and HTTP+SSE to a
 * server that has nothing else. All sessions share one pool of connections; TLS goes by the trust of the JVM.
 */
public final class UpstreamBackend implements Backend {
    private final UpstreamOptions options;
    private final ScheduledExecutorService clock;
    private final RemoteServer server;
    private final RepeatRules rules = new RepeatRules();

    /**
     * A backend for a server.
     *
     * @param clock tells the time; stays the caller's to shut down
     * @param client reaches it; stays the caller's to close
     */
    public UpstreamBackend(UpstreamOptions options, ScheduledExecutorService clock, UpstreamClient client) {
        this.options = options;
        this.clock = clock;
        this.server = RemoteServer.at(options.url(), client.sender(), clock, client.threads())
                .withDeliveryAtOnce();
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        UpstreamLink link = new UpstreamLink();
        RemoteServer session = server.withRequests(Requests.PLAIN.withCustomizer(link));
        // with headers of its own each client may be shown other tools
        RepeatRules promised = needsContext() ? new RepeatRules() : rules;
        UpstreamConnection connection =
                new UpstreamConnection(request.principal(), request.incarnation(), promised, sink, link, clock);
        UpstreamOpening opening = new UpstreamOpening(
                request, connection, new SessionOpening(session, connection.news(), connection.loss()));
        sink.onAnswer(connection::answer);
        sink.onAbandon(() -> opening.abandon("the client has left"));
        return opening.begin(options.openTimeout(), clock);
    }

    /** None where headers are forwarded: a restarted gateway does not have those of the call. */
    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return !needsContext() && rules.harmless(principal, request.method(), request.bytes());
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
