package dev.holdfast.upstream;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.Successor;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.InboundMessage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** One attempt to open a session at the upstream, for a connection that has none yet. */
final class UpstreamAttempt {
    private final UpstreamConnection connection;
    private final SessionOpener opening;
    /** Completes if the connection gets the session, and else never. */
    private final CompletableFuture<Void> opened = new CompletableFuture<>();

    private volatile @Nullable Envelope answer;

    /**
     * Hears of the session. That it is lost concerns the connection only if that gets the session, and is told then, no matter whether
     * it was heard before or after.
     */
    private record Watch(UpstreamLoss loss, CompletableFuture<Void> opened) implements SessionWatch {
        @Override
        public void reconnecting(Throwable cause) {
            loss.reconnecting(cause);
        }

        @Override
        public void resumed(Duration away) {
            loss.resumed(away);
        }

        @Override
        public void gap() {
            loss.gap();
        }

        @Override
        public void gone() {
            opened.thenRun(loss::gone);
        }

        @Override
        public void listeningGivenUp() {
            loss.listeningGivenUp();
        }

        @Override
        public void failed(Throwable failure) {
            loss.failed(failure);
        }
    }

    /**
     * @param successor a session that the upstream has opened already
     */
    UpstreamAttempt(UpstreamConnection connection, RemoteServer server, Optional<Successor> successor) {
        this.connection = connection;
        this.opening = new SessionOpener(server, connection.news(), new Watch(connection.loss(), opened)).in(successor);
    }

    /** Asks the upstream to {@code initialize}; if it does, the connection has the session when the stage completes. */
    CompletionStage<SessionOpener.Result> begin(InboundMessage request) {
        Envelope initialize = UpstreamLink.ENVELOPES.message(request);
        return opening.open(
                        Protocol.AUTOMATIC,
                        initialize,
                        connection.link().context(request),
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
        CompletionStage<Void> taken = connection.news().message(message);
        // before the response nothing of the session is committed: whoever waited for that would never read the
        // response
        return opened.isDone() ? taken : CompletableFuture.completedFuture(null);
    }

    /** What the upstream has answered to {@code initialize}: a result, or an error. */
    Optional<Envelope> answer() {
        return Optional.ofNullable(answer);
    }

    /** Gives up what is being opened, and closes what was; one that begins later comes to nothing. */
    void close() {
        opening.close();
    }
}
