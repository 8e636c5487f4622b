package dev.holdfast.upstream;

import dev.holdfast.client.HttpStatusException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession.Successor;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Backend.OpenRequest;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The opening of one session at the upstream, in a bounded time. */
final class UpstreamOpening {
    private static final Logger log = LoggerFactory.getLogger(UpstreamOpening.class);

    /** So many sessions may be lost before one is there. */
    private static final int MOST_LOST = 3;

    private static final long PAUSE_MILLIS = 100;

    private final OpenRequest request;
    private final UpstreamConnection connection;
    private final RemoteServer server;
    private final Optional<Successor> successor;
    private final ScheduledExecutorService clock;
    private final CompletableFuture<Backend.Outcome> end = new CompletableFuture<>();

    /**
     * @param successor a session that the upstream has opened already
     */
    UpstreamOpening(
            OpenRequest request,
            UpstreamConnection connection,
            RemoteServer server,
            Optional<Successor> successor,
            ScheduledExecutorService clock) {
        this.successor = successor;
        this.request = request;
        this.connection = connection;
        this.server = server;
        this.clock = clock;
    }

    /** Asks the upstream to {@code initialize}, and lets the time run. */
    CompletionStage<Backend.Outcome> begin(Duration timeout) {
        Future<?> deadline = clock.schedule(
                () -> abandon("the upstream did not answer initialize within " + timeout.toMillis() + " ms"),
                timeout.toNanos(),
                TimeUnit.NANOSECONDS);
        connection.onDistrust(this::abandon);
        attempt(MOST_LOST);
        return end.whenComplete((outcome, failure) -> {
            deadline.cancel(false);
            if (!(outcome instanceof Backend.Opened)) {
                connection.link().room().close();
            }
        });
    }

    /** Opens a session; another, where it is lost before it is there. */
    private void attempt(int more) {
        Attempt attempt = new Attempt();
        end.thenAccept(outcome -> {
            if (!(outcome instanceof Backend.Opened)) {
                attempt.close();
            }
        });
        attempt.begin()
                .thenAccept(result -> {
                    boolean lost = result instanceof SessionOpener.NotOpened not
                            && not.outcome().sessionLost();
                    if (lost && more > 0) {
                        Future<?> unused = clock.schedule(() -> attempt(more - 1), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                    } else {
                        end.complete(outcome(result, attempt.answer()));
                    }
                })
                .exceptionally(failure -> {
                    end.complete(unreachable("the upstream has not opened a session: " + failure.getMessage()));
                    return null;
                });
    }

    /** Gives up, if the upstream has not answered yet. */
    void abandon(String cause) {
        end.complete(unreachable(cause));
    }

    private Backend.Outcome outcome(SessionOpener.Result result, Optional<Envelope> answer) {
        return result instanceof SessionOpener.NotOpened not
                ? notOpened(not.outcome(), answer)
                : accepted(answer.orElseThrow());
    }

    private Backend.Outcome accepted(Envelope answer) {
        OutboundMessage message = answer.outbound();
        Optional<String> revision = answer.protocolVersion();
        if (revision.isEmpty()) {
            return unreachable("the upstream answered initialize without a protocolVersion");
        }
        connection.promised(JsonRpc.MESSAGES.introduction(message.bytes()).lists());
        return new Backend.Opened(connection, message, revision.get(), Optional.empty());
    }

    private Backend.Outcome notOpened(Outcome outcome, Optional<Envelope> answer) {
        if (outcome instanceof Outcome.Done && answer.isPresent()) {
            return new Backend.Refused(answer.get().outbound());
        }
        String cause = outcome instanceof Outcome.Unknown unknown
                ? "the upstream has not opened a session: " + unknown.reason()
                : UpstreamErrors.text(outcome).orElse("the upstream has not opened a session");
        if (outcome instanceof Outcome.NotSent unsent
                && unsent.cause() instanceof HttpStatusException status
                && (status.status() == 429 || status.status() == 503)) {
            return new Backend.Busy(error(cause), cause);
        }
        return unreachable(cause);
    }

    private Backend.Unreachable unreachable(String cause) {
        log.debug("a session could not be opened: {}", cause);
        return new Backend.Unreachable(error(cause), cause);
    }

    private OutboundMessage error(String cause) {
        return JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.SERVER_ERROR, cause);
    }

    /** One attempt to open a session at the upstream, for a connection that has none yet. */
    private final class Attempt {
        private final SessionOpener opening;
        /** Completes if the connection gets the session, and else never. */
        private final CompletableFuture<Void> opened = new CompletableFuture<>();

        private volatile @Nullable Envelope answer;

        /**
         * Hears of the session. That it is lost concerns the connection only if that gets the session, and is told then, no matter whether
         * it was heard before or after.
         */
        private record Watch(UpstreamConnection connection, CompletableFuture<Void> opened) implements SessionWatch {
            @Override
            public void reconnecting(Throwable cause) {
                connection.reconnecting(cause);
            }

            @Override
            public void resumed(Duration away) {
                connection.resumed(away);
            }

            @Override
            public void gap() {
                connection.gap();
            }

            @Override
            public void gone() {
                opened.thenRun(connection::gone);
            }

            @Override
            public void listeningGivenUp() {
                connection.listeningGivenUp();
            }

            @Override
            public void failed(Throwable failure) {
                connection.failed(failure);
            }
        }

        private Attempt() {
            this.opening = new SessionOpener(server, connection, new Watch(connection, opened)).in(successor);
        }

        /** Asks the upstream to {@code initialize}; if it does, the connection has the session when the stage completes. */
        private CompletionStage<SessionOpener.Result> begin() {
            Envelope initialize = UpstreamLink.ENVELOPES.message(request.initialize());
            return opening.open(
                            Protocol.AUTOMATIC,
                            initialize,
                            connection.link().context(request.initialize()),
                            message -> take(initialize, message))
                    .thenApply(result -> {
                        if (result instanceof SessionOpener.Opened open) {
                            connection.link().opened(open.session());
                            opened.complete(null);
                        }
                        return result;
                    });
        }

        private CompletionStage<Void> take(Envelope initialize, Envelope message) {
            if (message.id().equals(initialize.id()) && message.kind() != Envelope.Kind.REQUEST) {
                answer = message;
                return CompletableFuture.completedFuture(null);
            }
            CompletionStage<Void> taken = connection.message(message);
            // before the response nothing of the session is committed: whoever waited for that would never read the
            // response
            return opened.isDone() ? taken : CompletableFuture.completedFuture(null);
        }

        /** What the upstream has answered to {@code initialize}: a result, or an error. */
        private Optional<Envelope> answer() {
            return Optional.ofNullable(answer);
        }

        /** Gives up what is being opened, and closes what was; one that begins later comes to nothing. */
        private void close() {
            opening.close();
        }
    }
}
