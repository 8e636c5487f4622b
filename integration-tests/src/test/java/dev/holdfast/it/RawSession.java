package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import tools.jackson.databind.JsonNode;

/** A client's session, opened over raw connections: one for each request. */
final class RawSession {
    static final String NEWEST = "2025-11-25";

    private final int port;
    private final String id;
    private final String revision;
    private final AtomicInteger echoes = new AtomicInteger();

    private RawSession(int port, String id, String revision) {
        this.port = port;
        this.id = id;
        this.revision = revision;
    }

    static RawSession open(int port) {
        return open(port, NEWEST);
    }

    static RawSession open(int port, String revision) {
        return open(port, revision, Map.of());
    }

    /** Opens a session whose first requests carry further headers. */
    static RawSession open(int port, Map<String, String> headers) {
        return open(port, NEWEST, headers);
    }

    private static RawSession open(int port, String revision, Map<String, String> headers) {
        try (RawConnection connection = RawConnection.open(port)) {
            RawConnection.Head head = connection
                    .send(with(headers, RawRequest.post(Json.initialize(revision))))
                    .head();
            JsonNode response = Json.parse(connection.body());
            assertThat(head.status()).isEqualTo(200);
            assertThat(response.at("/result/protocolVersion").asString()).isEqualTo(revision);
            String id = head.header("Mcp-Session-Id").orElseThrow();
            RawSession session = new RawSession(port, id, revision);
            RawRequest initialized = session.post(Json.notification("notifications/initialized", "{}"));
            assertThat(session.status(with(headers, initialized))).isEqualTo(202);
            return session;
        }
    }

    /** The same session, for a client whose server is on another port now. */
    RawSession movedTo(int other) {
        return new RawSession(other, id, revision);
    }

    private static RawRequest with(Map<String, String> headers, RawRequest request) {
        RawRequest more = request;
        for (Map.Entry<String, String> header : headers.entrySet()) {
            more = more.with(header.getKey(), header.getValue());
        }
        return more;
    }

    String id() {
        return id;
    }

    int port() {
        return port;
    }

    RawRequest post(String json) {
        return named(RawRequest.post(json));
    }

    RawRequest post(byte[] body) {
        return named(RawRequest.post(body));
    }

    RawRequest get() {
        return named(RawRequest.get());
    }

    RawRequest get(String lastEventId) {
        return get().with("Last-Event-ID", lastEventId);
    }

    RawRequest delete() {
        return named(RawRequest.of("DELETE"));
    }

    private RawRequest named(RawRequest request) {
        return request.with("Mcp-Session-Id", id).with("MCP-Protocol-Version", revision);
    }

    /** Sends a request on a connection of its own. */
    RawConnection send(RawRequest request) {
        return RawConnection.open(port).send(request);
    }

    /** Sends a request, and returns the status of its answer. */
    int status(RawRequest request) {
        try (RawConnection connection = send(request)) {
            return connection.head().status();
        }
    }

    /** Opens a stream and reads its head. */
    RawConnection stream(RawRequest request) {
        RawConnection connection = send(request);
        RawConnection.Head head = connection.head();
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.header("Content-Type").orElse("")).startsWith("text/event-stream");
        return connection;
    }

    /** Calls the tool {@code echo}, and proves by its answer that the session lives. */
    void assertAlive() {
        String text = "echo " + echoes.incrementAndGet();
        try (RawConnection connection = stream(post(Json.echo("\"" + text + "\"", text)))) {
            JsonNode response = connection.message().json();
            assertThat(response.at("/result/content/0/text").asString()).isEqualTo(text);
        }
    }

    /** The same behind a fault of which other connections may not know yet: the next call may end with this error, those after it do not. */
    void assertAliveBehind(String error) {
        try (RawConnection connection = stream(post(Json.echo("\"behind\"", "behind")))) {
            JsonNode response = connection.message().json();
            assertThat(response.at("/result/content/0/text").asString()
                            + response.at("/error/message").asString())
                    .containsAnyOf("behind", error);
        }
        assertAlive();
    }

    /** Proves that the session is gone. */
    void assertGone() {
        assertThat(status(post(Json.echo("1", "hello")))).isEqualTo(404);
    }
}
