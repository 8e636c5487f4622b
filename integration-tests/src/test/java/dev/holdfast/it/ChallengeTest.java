package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.Challenge;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A client that is refused hears where it gets a token, and with which scopes. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class ChallengeTest {
    private static final int INVALID_REQUEST = -32600;
    private static final String PAGE = "https://app.example";
    private static final String METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp?a=b,c";
    private static final String PLACE = "resource_metadata=\"" + METADATA + "\"";
    private static final Challenge CHALLENGE = Challenge.of(URI.create(METADATA), "files:read", "files:write");

    private static final Map<String, Authenticator.Answer> KNOWN = Map.of(
            "Bearer good",
            new Authenticator.Known("alice"),
            "Bearer old",
            new Authenticator.WrongToken(CHALLENGE),
            "Bearer narrow",
            new Authenticator.InsufficientScope(CHALLENGE),
            "Bearer told",
            new Authenticator.InsufficientScope(CHALLENGE, "Writing files needs more, 'files:write'"),
            "Bearer longest",
            new Authenticator.InsufficientScope(
                    Challenge.of(URI.create(METADATA), "s".repeat(2_048 - METADATA.length())), "d".repeat(512)),
            "Bearer placeless",
            new Authenticator.InsufficientScope(new Challenge(Optional.empty(), List.of("files:read"))),
            "Bearer scopeless",
            new Authenticator.WrongToken(Challenge.of(URI.create(METADATA))));

    private final ContainerKind kind;

    @SuppressWarnings("NullAway.Init")
    private TestServer server;

    ChallengeTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .edge(options -> options.allowedOrigins(List.of(PAGE)).authenticator(ChallengeTest::who))
                .options(options -> options.sseEndpoint("/sse"))
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private static Authenticator.Answer who(HttpServletRequest request) {
        return Optional.ofNullable(request.getHeader("Authorization"))
                .map(credentials -> KNOWN.getOrDefault(credentials, new Authenticator.WrongToken()))
                .orElseGet(() -> new Authenticator.Stranger(CHALLENGE));
    }

    private String challenge(RawRequest request, int status, String words) {
        Refusal refusal = Refusal.of(server.port(), request).assertIs(status, INVALID_REQUEST, words);
        return refusal.head().header("WWW-Authenticate").orElseThrow();
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
    void everyRefusalSaysWhereATokenIsHadAndForWhichScopes(String method, String path) {
        RawRequest request = RawRequest.of(method).to(path);

        assertThat(challenge(request, 401, "not known")).isEqualTo("Bearer scope=\"files:read files:write\", " + PLACE);
        assertThat(challenge(request.with("Authorization", "Bearer old"), 401, "not known"))
                .isEqualTo("Bearer error=\"invalid_token\", scope=\"files:read files:write\", " + PLACE);
        assertThat(challenge(request.with("Authorization", "Bearer narrow"), 403, "scope"))
                .isEqualTo("Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", " + PLACE);
        assertThat(server.holdfast().engine().stats().refused())
                .containsEntry(dev.holdfast.Refusal.UNAUTHENTICATED, 2L)
                .containsEntry(dev.holdfast.Refusal.INSUFFICIENT_SCOPE, 1L);
    }

    @Test
    void whatIsNotGivenIsLeftOut() {
        RawRequest get = RawRequest.get();

        assertThat(challenge(get.with("Authorization", "Bearer told"), 403, "scope"))
                .isEqualTo("Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", " + PLACE
                        + ", error_description=\"Writing files needs more, 'files:write'\"");
        assertThat(challenge(get.with("Authorization", "Bearer placeless"), 403, "scope"))
                .isEqualTo("Bearer error=\"insufficient_scope\", scope=\"files:read\"");
        assertThat(challenge(get.with("Authorization", "Bearer scopeless"), 401, "not known"))
                .isEqualTo("Bearer error=\"invalid_token\", " + PLACE);
        assertThat(challenge(get.with("Authorization", "Bearer any"), 401, "not known"))
                .isEqualTo("Bearer error=\"invalid_token\"");
    }

    /** Beside the headers that a page needs. */
    @Test
    void theLongestChallengeArrives() {
        RawRequest get = RawRequest.get().with("Origin", PAGE).with("Authorization", "Bearer longest");

        assertThat(challenge(get, 403, "scope")).hasSizeGreaterThan(2_048 + 512).endsWith("d\"");
    }

    @Test
    void aRefusalForItsScopesDoesNothingToASession() {
        RawRequest initialize =
                RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Authorization", "Bearer good");
        try (RawConnection opening = RawConnection.open(server.port()).send(initialize)) {
            RawRequest end = RawRequest.of("DELETE")
                    .with(
                            "Mcp-Session-Id",
                            opening.head().header("Mcp-Session-Id").orElseThrow());

            challenge(end.with("Authorization", "Bearer narrow"), 403, "scope");

            try (RawConnection ending =
                    RawConnection.open(server.port()).send(end.with("Authorization", "Bearer good"))) {
                assertThat(ending.head().status()).isEqualTo(200);
            }
        }
    }

    @Test
    void aPageMayReadTheChallengeAndAsksForPermissionWithoutAToken() {
        RawRequest ask = RawRequest.of("OPTIONS").with("Origin", PAGE).with("Access-Control-Request-Method", "POST");
        try (RawConnection preflight = RawConnection.open(server.port()).send(ask)) {
            RawConnection.Head head = preflight.head();
            assertThat(head.status()).isEqualTo(204);
            assertThat(head.header("WWW-Authenticate")).isEmpty();
        }

        Refusal narrow =
                Refusal.of(server.port(), RawRequest.get().with("Origin", PAGE).with("Authorization", "Bearer narrow"));
        assertThat(narrow.status()).isEqualTo(403);
        assertThat(narrow.head().header("Access-Control-Allow-Origin")).hasValue(PAGE);
        assertThat(narrow.head().header("Access-Control-Expose-Headers").orElseThrow())
                .contains("WWW-Authenticate");
    }
}
