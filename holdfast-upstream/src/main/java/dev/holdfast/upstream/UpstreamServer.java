package dev.holdfast.upstream;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Requests;
import dev.holdfast.client.Successor;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Opens sessions at one server.
 *
 * @param server where, and by what
 * @param room what the messages to it take
 * @param openTimeout how long it may take to answer {@code initialize}
 * @param forwards whether headers of requests are passed on to it
 * @param clock ends what takes too long
 * @param rules what its tools say of themselves
 * @param successors what was opened in the place of lost sessions, by the ids that clients hold
 */
record UpstreamServer(
        RemoteServer server,
        RequestRoom room,
        Duration openTimeout,
        boolean forwards,
        ScheduledExecutorService clock,
        RepeatRules rules,
        Map<String, Successor> successors)
        implements Backend {
    /** So long a session is kept for whoever comes back, which has been opened when another one was found to be lost. */
    private static final long KEPT_SECONDS = 60;

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        UpstreamLink link = new UpstreamLink(clock, room.ofSession());
        RemoteServer session = server.withRequests(Requests.PLAIN.withCustomizer(link));
        // with headers of its own each client may be shown other tools
        RepeatRules promised = forwards ? new RepeatRules() : rules;
        UpstreamConnection connection =
                new UpstreamConnection(request.principal(), request.incarnation(), promised, sink, link, clock);
        link.onSuccessor(next -> {
            String id = sink.sessionId();
            successors.put(id, next);
            Future<?> unused = clock.schedule(() -> successors.remove(id, next), KEPT_SECONDS, TimeUnit.SECONDS);
        });
        Optional<Successor> opened = Optional.ofNullable(successors.remove(sink.sessionId()));
        UpstreamOpening opening = new UpstreamOpening(request, connection, session, opened, clock);
        sink.onAnswer(connection::answer);
        sink.onAbandon(() -> opening.abandon("the client has left"));
        return opening.begin(openTimeout);
    }

    /** None where headers are forwarded: a process that was started again does not have those of the call. */
    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return !forwards && rules.harmless(principal, request.method(), request.bytes());
    }

    /** What it sends without being asked must not come once for each node. */
    @Override
    public boolean existsOnce() {
        return true;
    }

    @Override
    public boolean needsContext() {
        return forwards;
    }
}
