package dev.holdfast.benchmarks.jmh;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.EnvelopeReader.Single;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** One session on an engine with the store in memory. */
@State(Scope.Thread)
public class Conversation {
    static final byte[] CALL = """
            {"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}""".getBytes(UTF_8);

    private static final byte[] INITIALIZE = """
            {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"jmh","version":"1"}}}""".getBytes(UTF_8);
    private static final byte[] INITIALIZED =
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".getBytes(UTF_8);
    private static final int READ_BYTES = 64 << 10;

    private final EchoBackend backend = new EchoBackend();
    private final SessionEngine engine =
            SessionEngine.builder(backend, JsonRpc.MESSAGES).build().start();
    private final EnvelopeReader scan = new EnvelopeReader();
    private Session session = opened();

    private Session opened() {
        return ((Opening.Opened) engine.open(message(INITIALIZE), "", Lifetime.DEFAULT)
                        .toCompletableFuture()
                        .join())
                .session();
    }

    /** A session for each iteration: what the last one has kept does not count. */
    @Setup(Level.Iteration)
    public void open() {
        session.terminate().toCompletableFuture().join();
        session = opened();
        session.notify(message(INITIALIZED)).toCompletableFuture().join();
    }

    /** Ends what runs. */
    @TearDown
    public void close() {
        engine.close();
    }

    Session session() {
        return session;
    }

    ListeningSink listening() {
        return backend.listening();
    }

    InboundMessage message(byte[] bytes) {
        return ((Single) scan.read(bytes)).message().inbound(InboundMessage.NO_CONTEXT);
    }

    /** Reads what is there, as a connection does that writes it at once; returns how many events. */
    static int read(StreamReader reader) {
        int events = 0;
        while (reader.read(READ_BYTES) instanceof StreamReader.Events found) {
            events += found.events().size();
        }
        return events;
    }

    /** What nobody has to wake. */
    static StreamReader.Waker nobody() {
        return new StreamReader.Waker() {
            @Override
            public void wake() {}

            @Override
            public void abort() {}
        };
    }
}
