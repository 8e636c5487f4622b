package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Who asks is settled before anything else is looked at, on every path and for every method but OPTIONS. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class AuthenticatorTest {
    private static final int INVALID_REQUEST = -32600;
    private static final int SERVER_ERROR = -32000;
    private static final Duration BRIEF = Duration.ofMillis(500);
    private static final Map<String, Authenticator.Answer> KNOWN = Map.of(
            "Bearer one", new Authenticator.Known("alice"),
            "Bearer two", new Authenticator.Known("alice"),
            "Bearer three", new Authenticator.Known("bob"),
            "Bearer brief", new Authenticator.Known("alice", Optional.of(BRIEF)),
            "Bearer long", new Authenticator.Known("alice", Optional.of(Duration.ofSeconds(Long.MAX_VALUE))),
            "Bearer undecided", new Authenticator.Undecided());

    private final ContainerKind kind;

    @SuppressWarnings("NullAway.Init")
    private TestServer server;

    AuthenticatorTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .edge(options -> options.authenticator(AuthenticatorTest::who))
                .options(options -> options.sseEndpoint("/sse"))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static Authenticator.Answer who(HttpServletRequest request) {
        String credentials = request.getHeader("Authorization");
        return credentials == null
                ? new Authenticator.Stranger()
                : KNOWN.getOrDefault(credentials, new Authenticator.WrongToken());
    }

    private String sessionOf(String credentials) {
        RawRequest initialize =
                RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Authorization", credentials);
        try (RawConnection connection = RawConnection.open(server.port()).send(initialize)) {
            RawConnection.Head head = connection.head();
            assertThat(head.status()).isEqualTo(200);
            return head.header("Mcp-Session-Id").orElseThrow();
        }
    }

    private int status(RawRequest request) {
        try (RawConnection connection = RawConnection.open(server.port()).send(request)) {
            return connection.head().status();
        }
    }

    @Test
    void optionsOfTheEdgeDoNotReplaceAnAuthenticatorThatWasSetBefore() throws Exception {
        try (TestServer guarded = TestServer.in(kind)
                        .options(options ->
                                options.authenticator(AuthenticatorTest::who).edgeOptions(EdgeOptions.DEFAULT))
                        .start();
                RawConnection stranger =
                        RawConnection.open(guarded.port()).send(RawRequest.post(Json.initialize(RawSession.NEWEST)))) {
            assertThat(stranger.head().status()).isEqualTo(401);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "POST, /mcp",
        "GET, /mcp",
        "DELETE, /mcp",
        "PUT, /mcp",
        "GET, /sse",
        "POST, /sse",
        "POST, /message",
        "GET, /message"
    })
    void aStrangerIsAskedForAToken(String method, String path) {
        Refusal none = Refusal.of(server.port(), RawRequest.of(method).to(path));
        Refusal wrong = Refusal.of(server.port(), RawRequest.of(method).to(path).with("Authorization", "Bearer x"));

        none.assertIs(401, INVALID_REQUEST, "not known");
        assertThat(none.head().header("WWW-Authenticate")).hasValue("Bearer");
        wrong.assertIs(401, INVALID_REQUEST, "not known");
        assertThat(wrong.head().header("WWW-Authenticate")).hasValue("Bearer error=\"invalid_token\"");
        assertThat(server.holdfast().engine().stats().refused())
                .containsEntry(dev.holdfast.Refusal.UNAUTHENTICATED, 2L);
    }

    @Test
    void theBodyOfAStrangerIsNotReadAndItsHostIsLookedAtFirst() {
        RawRequest announced = RawRequest.post("{").with("Content-Length", "1000");

        Refusal.of(server.port(), announced).assertIs(401, INVALID_REQUEST, "not known");
        Refusal.of(server.port(), announced.with("Host", "evil.example")).assertIs(403, INVALID_REQUEST, "Host");
        Refusal.of(server.port(), announced.with("Origin", "http://evil.example"))
                .assertIs(403, INVALID_REQUEST, "Origin");
    }

    @Test
    void nobodyIsAskedForATokenByOptions() {
        assertThat(status(RawRequest.of("OPTIONS"))).isEqualTo(405);
        assertThat(status(RawRequest.of("OPTIONS").to("/sse"))).isEqualTo(405);
    }

    @Test
    void aSessionOpensForItsPrincipalOnlyWhateverTheToken() {
        RawRequest note = RawRequest.post(Json.notification("notifications/initialized", "{}"))
                .with("Mcp-Session-Id", sessionOf("Bearer one"));

        assertThat(status(note.with("Authorization", "Bearer one"))).isEqualTo(202);
        assertThat(status(note.with("Authorization", "Bearer two"))).isEqualTo(202);
        assertThat(status(note.with("Authorization", "Bearer three"))).isEqualTo(404);
        assertThat(status(note)).isEqualTo(401);
    }

    @Test
    void anEndpointOfHttpSseOpensForItsPrincipalOnly() {
        RawRequest get = RawRequest.get().to("/sse").with("Authorization", "Bearer one");
        try (RawConnection stream = RawConnection.open(server.port()).send(get)) {
            assertThat(stream.head().status()).isEqualTo(200);
            String endpoint = stream.frame().orElseThrow().data();
            RawRequest initialize =
                    RawRequest.post(Json.initialize("2024-11-05")).to(endpoint);

            assertThat(status(initialize)).isEqualTo(401);
            assertThat(status(initialize.with("Authorization", "Bearer three"))).isEqualTo(404);
            assertThat(status(initialize.with("Authorization", "Bearer two"))).isEqualTo(202);
        }
    }

    @Test
    void whoCannotBeToldNowIsToComeBack() {
        Refusal refusal = Refusal.of(server.port(), RawRequest.get().with("Authorization", "Bearer undecided"));

        refusal.assertIs(503, SERVER_ERROR, "nobody can tell now who asks");
        assertThat(refusal.head().header("Retry-After")).hasValue("1");
        assertThat(refusal.head().header("WWW-Authenticate")).isEmpty();
        assertThat(server.holdfast().engine().stats().refused()).containsEntry(dev.holdfast.Refusal.AUTHENTICATION, 1L);
    }

    @Test
    void aListeningStreamEndsInOrderWhenItsPrincipalMayNotListenAnyMore() {
        RawRequest listen = RawRequest.get().with("Mcp-Session-Id", sessionOf("Bearer one"));
        long began = System.nanoTime();
        try (RawConnection listening =
                RawConnection.open(server.port()).send(listen.with("Authorization", "Bearer brief"))) {
            assertThat(listening.head().status()).isEqualTo(200);
            assertThat(Stream.generate(listening::frame).takeWhile(Optional::isPresent))
                    .hasSize(2);
            assertThat(listening.end()).isEqualTo(RawConnection.End.IN_ORDER);
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(BRIEF.dividedBy(2));
        }
        try (RawConnection listening =
                RawConnection.open(server.port()).send(listen.with("Authorization", "Bearer long"))) {
            assertThat(listening.head().status()).isEqualTo(200);
            assertThat(listening.frame()).isPresent();
        }
    }
}
