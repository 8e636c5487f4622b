package dev.holdfast.json;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/**
 * A backend whose tools say themselves which of their calls may be run again, by {@link RepeatRules}: it learns from the
 * {@code tools/list} results that pass through it.
 */
public final class HintedBackend implements Backend {
    private final Backend backend;
    private final RepeatRules rules = new RepeatRules();

    /** The same backend, with what its tools say of themselves. */
    public HintedBackend(Backend backend) {
        this.backend = Objects.requireNonNull(backend, "backend");
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        String principal = request.principal();
        return backend.open(request, sink)
                .thenApply(outcome -> outcome instanceof Opened opened
                        ? new Opened(
                                new Listening(opened.connection(), principal),
                                opened.response(),
                                opened.revision(),
                                opened.sessionId())
                        : outcome);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return rules.harmless(principal, request.method(), request.bytes());
    }

    @Override
    public boolean executesImmediately() {
        return backend.executesImmediately();
    }

    @Override
    public boolean needsContext() {
        return backend.needsContext();
    }

    @Override
    public int mostConnections() {
        return backend.mostConnections();
    }

    @Override
    public boolean existsOnce() {
        return backend.existsOnce();
    }

    /** A connection on which lists of tools are overheard; everything else passes by. */
    private final class Listening implements BackendConnection {
        private final BackendConnection connection;
        private final String principal;

        private Listening(BackendConnection connection, String principal) {
            this.connection = connection;
            this.principal = principal;
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            connection.call(
                    request, request.method().equals(RepeatRules.TOOLS_LIST) ? new Overheard(sink, principal) : sink);
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            connection.replay(request, sink);
        }

        @Override
        public void notify(InboundMessage notification) {
            connection.notify(notification);
        }

        @Override
        public void answer(InboundMessage response) {
            connection.answer(response);
        }

        @Override
        public CompletionStage<Void> close() {
            return connection.close();
        }
    }

    /** The way back of one list: it is learned before its client can act on it. */
    private final class Overheard implements CallSink {
        private final CallSink sink;
        private final String principal;

        private Overheard(CallSink sink, String principal) {
            this.sink = sink;
            this.principal = principal;
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (message.kind() == EventKind.RESPONSE) {
                rules.learn(principal, message.bytes());
            }
            return sink.send(message);
        }

        @Override
        public void onCancel(CancelHook hook) {
            sink.onCancel(hook);
        }

        @Override
        public void disconnect(Duration retry) {
            sink.disconnect(retry);
        }

        @Override
        public String sessionId() {
            return sink.sessionId();
        }
    }
}
