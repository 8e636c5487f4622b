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
import java.util.Set;
import java.util.concurrent.CompletionStage;

/**
 * A backend whose tools say themselves which of their calls may be run again. It learns that from the {@code tools/list} results
 * that pass through it: a call may be run again of a tool with a {@code readOnlyHint} or an {@code idempotentHint}, both of
 * which are false unless told. Beside those, every request that only reads by the specification, and no other.
 *
 * <p>What is known is known per principal, for a server may show each caller tools of its own, and lasts as long as this object:
 * up to 1,000 tools of each of 1,000 principals, those that were asked for least recently are forgotten first. The pages of a
 * list add up, and a later answer replaces what is known of the tools that it names. {@code notifications/tools/list_changed}
 * changes nothing: it does not say of which tool, most often one was added, and a client that hears it asks for the list, whose
 * answer comes by here. What a name is forgotten for, or was never known for, is not run again.
 *
 * <p>Hints are to be believed of a server that one trusts, as is the one behind this engine.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations">MCP schema, ToolAnnotations</a>
 */
public final class HintedBackend implements Backend {
    private static final String TOOLS_LIST = "tools/list";
    private static final String TOOLS_CALL = "tools/call";
    private static final Set<String> READING = Set.of(
            "ping",
            TOOLS_LIST,
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "prompts/list",
            "prompts/get",
            "completion/complete");

    private final Backend backend;
    private final ToolHints hints = new ToolHints();

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
        if (request.method().equals(TOOLS_CALL)) {
            return JsonPeek.text(request.bytes(), "name")
                    .filter(tool -> hints.harmless(principal, tool))
                    .isPresent();
        }
        return READING.contains(request.method());
    }

    @Override
    public boolean executesImmediately() {
        return backend.executesImmediately();
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
            connection.call(request, request.method().equals(TOOLS_LIST) ? new Overheard(sink, principal) : sink);
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
                hints.learn(principal, ToolList.read(message.bytes()));
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
