package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import tools.jackson.databind.JsonNode;

/** A client's session over HTTP+SSE: a GET that stays open, and POSTs over connections of their own. Its GET is for one thread. */
final class RawSseSession implements AutoCloseable {
    static final String REVISION = "2024-11-05";

    private final int port;
    private final RawConnection stream;
    private final RawConnection.Head head;
    private final Frame opening;
    private final AtomicInteger echoes = new AtomicInteger();

    private RawSseSession(int port, RawConnection stream) {
        this.port = port;
        this.stream = stream;
        this.head = stream.head();
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.header("Content-Type").orElse("")).startsWith("text/event-stream");
        this.opening = stream.message();
        assertThat(opening.event()).hasValue("endpoint");
    }

    /** Opens a session and initializes it. */
    static RawSseSession open(int port) {
        return connect(port).initialize();
    }

    /** Opens a session that is not initialized. */
    static RawSseSession connect(int port) {
        return connect(port, get());
    }

    static RawSseSession connect(int port, RawRequest get) {
        return connect(port, RawConnection.open(port), get);
    }

    /** The same over a connection that is there already. */
    static RawSseSession connect(int port, RawConnection connection, RawRequest get) {
        return new RawSseSession(port, connection.send(get));
    }

    static RawRequest get() {
        return RawRequest.get().to("/sse");
    }

    static RawRequest get(String lastEventId) {
        return get().with("Last-Event-ID", lastEventId);
    }

    RawSseSession initialize() {
        assertThat(status(post(Json.initialize(REVISION)))).isEqualTo(202);
        JsonNode response = receive();
        assertThat(response.at("/result/protocolVersion").asString()).isEqualTo(REVISION);
        assertThat(status(post(Json.notification("notifications/initialized", "{}"))))
                .isEqualTo(202);
        return this;
    }

    /** The head of the answer to the GET. */
    RawConnection.Head head() {
        return head;
    }

    /** The first event. */
    Frame opening() {
        return opening;
    }

    /** Where to POST, as the server put it. */
    String endpoint() {
        return opening.data();
    }

    String id() {
        return endpoint().substring(endpoint().indexOf('=') + 1);
    }

    /** The open GET. */
    RawConnection stream() {
        return stream;
    }

    /** A POST as clients of this age make it: they do not say what they accept. */
    RawRequest post(String json) {
        return RawRequest.post(json).to(endpoint()).without("Accept");
    }

    /** Sends a request over a connection of its own, and returns the status of its answer. */
    int status(RawRequest request) {
        try (RawConnection connection = RawConnection.open(port).send(request)) {
            return connection.head().status();
        }
    }

    /** Posts a message that must be taken. */
    void send(String json) {
        assertThat(status(post(json))).isEqualTo(202);
    }

    /** The next message of the GET. */
    JsonNode receive() {
        Frame frame = stream.message();
        assertThat(frame.event()).hasValue("message");
        return frame.json();
    }

    /** Calls the tool {@code echo}, and proves by its answer, which must be the next message, that the session lives. */
    void assertAlive() {
        String text = "echo " + echoes.incrementAndGet();
        send(Json.echo("\"" + text + "\"", text));
        JsonNode response = receive();
        assertThat(response.at("/id").asString()).isEqualTo(text);
        assertThat(response.at("/result/content/0/text").asString()).isEqualTo(text);
    }

    /** Proves that the session is gone. */
    void assertGone() {
        Refusal.of(port, post(Json.echo("1", "hello"))).assertIs(404, -32001, "session not found");
    }

    @Override
    public void close() {
        stream.close();
    }
}
