package dev.holdfast.benchmarks.jmh;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Answers every call at once with the same bytes, on the thread that calls. */
final class EchoBackend implements Backend {
    private static final byte[] INITIALIZED = """
            {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"jmh","version":"1"}}}""".getBytes(UTF_8);
    private static final byte[] ANSWER = """
            {"jsonrpc":"2.0","id":100000000,"result":{"content":[{"type":"text","text":"hello"}],"isError":false}}""".getBytes(UTF_8);

    private Optional<ListeningSink> listening = Optional.empty();

    /** The sink of the session that was opened last. */
    ListeningSink listening() {
        return listening.orElseThrow();
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        listening = Optional.of(sink);
        OutboundMessage response =
                new OutboundMessage(EventKind.RESPONSE, request.initialize().requiredId(), INITIALIZED);
        return CompletableFuture.completedFuture(
                new Opened(new Connection(), response, "2025-11-25", Optional.empty()));
    }

    /** Has nothing to remember. */
    private static final class Connection implements BackendConnection {
        @Override
        public void call(InboundMessage request, CallSink sink) {
            sink.send(new OutboundMessage(EventKind.RESPONSE, request.requiredId(), ANSWER));
        }

        @Override
        public void notify(InboundMessage notification) {}

        @Override
        public void answer(InboundMessage response) {}

        @Override
        public CompletionStage<Void> close() {
            return CompletableFuture.completedFuture(null);
        }
    }
}
