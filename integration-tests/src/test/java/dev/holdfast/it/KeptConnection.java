package dev.holdfast.it;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** A client that sends one request after the other, and keeps its connection as long as the server does. */
final class KeptConnection implements AutoCloseable {
    /** Tomcat says at the hundredth request that it closes; even, so that both of a pair are asked on one connection. */
    private static final int ON_ONE_CONNECTION = 50;

    private final int port;
    private Optional<HostileWire> wire = Optional.empty();
    private int asked;

    KeptConnection(int port) {
        this.port = port;
    }

    /** An answer, but for what differs between any two. */
    record Outcome(int status, Map<String, String> headers, String body) {}

    /** Sends a request, and reads its answer. */
    Outcome ask(RawRequest request) throws IOException {
        if (++asked % ON_ONE_CONNECTION == 1) {
            close();
        }
        HostileWire to = wire.isPresent() ? wire.get() : new HostileWire(port);
        wire = Optional.of(to);
        byte[] head = request.head(port);
        byte[] all = Arrays.copyOf(head, head.length + request.body().length);
        System.arraycopy(request.body(), 0, all, head.length, request.body().length);
        to.write(all);
        HostileWire.Answer answer =
                to.answer(request.method()).orElseThrow(() -> new IOException("the server has closed the connection"));
        Map<String, String> headers = new TreeMap<>(answer.headers());
        headers.remove("date");
        if (answer.closes() || answer.endless()) {
            to.close();
            wire = Optional.empty();
        }
        return new Outcome(answer.status(), headers, answer.body());
    }

    @Override
    public void close() throws IOException {
        if (wire.isPresent()) {
            wire.get().close();
        }
        wire = Optional.empty();
    }
}
