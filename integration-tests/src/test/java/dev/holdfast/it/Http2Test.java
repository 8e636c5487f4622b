package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests of HTTP/2: their host stands in {@code :authority}, and one connection carries them all. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class Http2Test {
    private static final String SESSION = "Mcp-Session-Id";

    private final ContainerKind kind;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
    private TestServer server;

    Http2Test(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .http2()
                .options(options -> options.sseEndpoint("/sse"))
                .start();
        // the first request of this client is one of HTTP/1.1, which asks for the other protocol
        String ended = RawSession.open(server.port()).id();
        assertThat(send(request("/mcp").header(SESSION, ended).DELETE()).statusCode())
                .isEqualTo(200);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://localhost:" + server.port() + path))
                .timeout(Duration.ofSeconds(20))
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream");
    }

    private HttpRequest.Builder post(String json) {
        return request("/mcp").POST(BodyPublishers.ofString(json));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
        assertThat(response.version()).isEqualTo(HttpClient.Version.HTTP_2);
        return response;
    }

    /** Opens a session, and returns its id. */
    private String open() throws Exception {
        HttpResponse<String> opened = send(post(Json.initialize(RawSession.NEWEST)));
        assertThat(opened.statusCode()).as(opened.body()).isEqualTo(200);
        String session = opened.headers().firstValue(SESSION).orElseThrow();
        String initialized = Json.notification("notifications/initialized", "{}");
        assertThat(send(post(initialized).header(SESSION, session)).statusCode())
                .isEqualTo(202);
        return session;
    }

    @Test
    void aSessionIsOpenedAndAToolIsCalled() throws Exception {
        String session = open();

        HttpResponse<String> called = send(post(Json.echo("1", "hello")).header(SESSION, session));

        assertThat(called.statusCode()).isEqualTo(200);
        assertThat(called.body()).contains("\"text\":\"hello\"");
    }

    @Test
    void whatTheServerSendsByItselfComesOnTheListeningStream() throws Exception {
        String session = open();
        HttpRequest get = request("/mcp").header(SESSION, session).build();
        try (Stream<String> lines = client.send(get, BodyHandlers.ofLines()).body()) {
            server.log(session, "news");

            assertThat(lines.filter(line -> line.startsWith("data: {")).findFirst())
                    .hasValueSatisfying(line -> assertThat(line).contains("news"));
        }
    }

    @Test
    void thePagesOfTheServerItselfAreServedAndNoOthers() throws Exception {
        String own = "http://localhost:" + server.port();

        assertThat(send(post(Json.initialize(RawSession.NEWEST)).header("Origin", own))
                        .statusCode())
                .isEqualTo(200);
        assertThat(send(post(Json.initialize(RawSession.NEWEST)).header("Origin", "http://evil.example"))
                        .statusCode())
                .isEqualTo(403);
    }
}
