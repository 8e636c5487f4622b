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
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A backend whose tools say themselves which of their calls may be run again, by {@link RepeatRules}: it learns from the
 * {@code tools/list} results that pass through it. Where nothing is known for a principal, because the results passed through an
 * earlier process, it asks for the list itself as soon as it is opened for a session that has its id already, one that is
 * restored: up to 100 pages within ten seconds, under ids of its own, by {@link BackendConnection#replay}. A backend that declares
 * no tools is not asked, nor is one that {@linkplain Backend#executesImmediately executes immediately}, whose calls are never run
 * again. Calls wait for none of it: those that start before the answer are not run again.
 */
public final class HintedBackend implements Backend {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final String INITIALIZED = "notifications/initialized";

    private final Backend backend;
    private final Duration patience;
    private final RepeatRules rules = new RepeatRules();
    /** The principals for whom a list is on its way: many sessions are restored at once, and one answer is enough. */
    private final Set<String> asking = ConcurrentHashMap.newKeySet();

    /** The same backend, with what its tools say of themselves. */
    public HintedBackend(Backend backend) {
        this(backend, PATIENCE);
    }

    /** Gives up the lists that it asks for itself after another time. */
    HintedBackend(Backend backend, Duration patience) {
        this.backend = Objects.requireNonNull(backend, "backend");
        this.patience = patience;
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        // empty while a client opens its session: it will list the tools itself
        String restored = sink.sessionId();
        return backend.open(request, sink)
                .thenApply(outcome -> outcome instanceof Opened opened
                        ? new Opened(
                                new Listening(opened, request, restored),
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
        private final String incarnation;
        private final String sessionId;
        private final boolean asks;
        private volatile Optional<ToolQuestion> question = Optional.empty();

        /**
         * @param restored the id of the session that comes back; empty if it is a new one
         */
        private Listening(Opened opened, OpenRequest request, String restored) {
            this.connection = opened.connection();
            this.principal = request.principal();
            this.incarnation = request.incarnation();
            this.sessionId = restored;
            this.asks = !restored.isEmpty()
                    && !executesImmediately()
                    && JsonPeek.isObject(opened.response().bytes(), "result", "capabilities", "tools");
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
            if (asks && notification.method().equals(INITIALIZED)) {
                ask();
            }
        }

        private void ask() {
            if (rules.knows(principal) || !asking.add(principal)) {
                return;
            }
            ToolQuestion asked =
                    new ToolQuestion(connection, incarnation, sessionId, answer -> rules.learn(principal, answer));
            question = Optional.of(asked);
            asked.begin(patience).whenComplete((done, late) -> {
                asking.remove(principal);
                if (late != null) {
                    asked.withdraw();
                }
            });
        }

        @Override
        public void answer(InboundMessage response) {
            connection.answer(response);
        }

        @Override
        public CompletionStage<Void> close() {
            question.ifPresent(ToolQuestion::end);
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
