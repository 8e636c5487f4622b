package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests of HTTP/2: their host stands in {@code :authority}, and one connection carries them all. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
@Tag("edge")
class Http2Test {
    private static final String SESSION = "Mcp-Session-Id";
    private static final int LIMIT = 64 << 10;

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
                .options(options -> options.maxRequestSize(LIMIT))
                .start();
        upgrade();
    }

    private void upgrade() throws Exception {
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
        return send(request, BodyHandlers.ofString());
    }

    private <T> HttpResponse<T> send(HttpRequest.Builder request, HttpResponse.BodyHandler<T> body) throws Exception {
        HttpResponse<T> response = client.send(request.build(), body);
        assertThat(response.version()).isEqualTo(HttpClient.Version.HTTP_2);
        return response;
    }

    /** Nothing interrupts a read of such a body. */
    private static <T> T soon(Callable<T> read) throws Exception {
        FutureTask<T> reading = new FutureTask<>(read);
        new Thread(reading).start();
        return reading.get(20, TimeUnit.SECONDS);
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

            assertThat(soon(() ->
                            lines.filter(line -> line.startsWith("data: {")).findFirst()))
                    .hasValueSatisfying(line -> assertThat(line).contains("news"));
        }
    }

    /** Whatever ends a connection of HTTP/1.1: in HTTP/2 it carries other requests, and such a header would be malformed. */
    @Test
    void noRefusalTellsOfTheConnection() throws Exception {
        HttpRequest.Builder echo = post(Json.echo("1", "hello"));
        String large = "x".repeat(LIMIT);

        assertTellsNothing(404, send(echo.copy().header(SESSION, "forged")));
        assertTellsNothing(403, send(echo.copy().header("Origin", "http://evil.example")));
        assertTellsNothing(405, send(request("/mcp").PUT(BodyPublishers.ofString("{}"))));
        assertTellsNothing(413, send(post(Json.echo("1", large)).header(SESSION, open())));
        server.holdfast().engine().drain(Duration.ZERO).toCompletableFuture().get(20, TimeUnit.SECONDS);
        assertTellsNothing(503, send(post(Json.initialize(RawSession.NEWEST))));
    }

    private static void assertTellsNothing(int status, HttpResponse<String> refusal) {
        assertThat(refusal.statusCode()).as(refusal.body()).isEqualTo(status);
        assertThat(refusal.headers().map()).doesNotContainKeys("connection", "Connection");
        assertThat(refusal.body()).contains("\"error\"");
    }

    @Test
    void anAcceptanceThatComesBeforeItsCallIsDoneTellsNothingOfTheConnection() throws Exception {
        CompletableFuture<String> release = new CompletableFuture<>();
        server.close();
        server = TestServer.in(kind)
                .http2()
                .options(options -> options.sseEndpoint("/sse"))
                .syncServer(specification -> specification
                        .immediateExecution(true)
                        .toolCall(Tools.definition("patient"), (exchange, request) -> Tools.text(release.join())))
                .start();
        try (RawSseSession session = RawSseSession.open(server.port())) {
            upgrade();

            HttpRequest.Builder post =
                    request(session.endpoint()).POST(BodyPublishers.ofString(Json.call("\"patient\"", "patient")));
            // its head comes at once, its end when the handler is done
            HttpResponse<InputStream> early = send(post, BodyHandlers.ofInputStream());

            assertThat(early.statusCode()).isEqualTo(202);
            assertThat(early.headers().map()).doesNotContainKeys("connection", "Connection");
            release.complete("done");
            assertThat(session.receive().at("/result/content/0/text").asString())
                    .isEqualTo("done");
            assertThat(soon(early.body()::readAllBytes)).isEmpty();
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
