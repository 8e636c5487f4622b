package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import dev.holdfast.gateway.http.AccessTokens;
import dev.holdfast.gateway.text.GatewayException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Whom a gateway serves that takes the access tokens of an authorization server. */
@Timeout(120)
class OAuthTest {
    /** How many bad tokens come, from so many clients at once. */
    private static final int FLOOD = Integer.getInteger("holdfast.badtokens", 4_000);

    private static final int CLIENTS = 8;
    private static final String AUTHORIZATION = "Authorization";
    private static final String CHALLENGE = "WWW-Authenticate";
    private static final String PING = "{'jsonrpc':'2.0','id':1,'method':'ping'}";
    /** Less than the clocks may differ by: such a token ends seven seconds from now. */
    private static final Duration NEARLY_OVER = Duration.ofSeconds(-23);

    private static final List<String> KINDS = List.of(
            "expired",
            "not yet valid",
            "without an end",
            "for another audience",
            "for the beginning of the audience",
            "for no audience",
            "of another issuer",
            "of no issuer",
            "of nobody",
            "of an empty subject",
            "of a long subject",
            "by another key of the same name",
            "of another type",
            "alg none",
            "alg none with a signature",
            "HS256 with the public key",
            "HS256 with the public key as text",
            "no JWT",
            "empty parts");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @AutoClose
    private final IdentityProvider provider = new IdentityProvider();

    private TestGateway gateway(String... more) {
        return TestGateway.demo(Stream.concat(Stream.of("--oauth-issuer", provider.issuer()), Stream.of(more))
                .toArray(String[]::new));
    }

    private static String bearer(String token) {
        return "Bearer " + token;
    }

    private String token(String subject, URI url) {
        return bearer(provider.token(provider.claims(subject, url.toString())));
    }

    private HttpPeer peer(String subject, URI url) {
        return HttpPeer.connected(url, AUTHORIZATION, token(subject, url));
    }

    private static HttpResponse<String> asked(URI url, String token) {
        return new HttpPeer(url).with(AUTHORIZATION, token).post(TestJson.INITIALIZE);
    }

    private static String challenge(HttpResponse<String> response) {
        return response.headers().firstValue(CHALLENGE).orElse("");
    }

    private static String place(URI url) {
        return "resource_metadata=\"" + url.resolve("/.well-known/oauth-protected-resource" + url.getPath()) + "\"";
    }

    @Test
    void aSessionIsItsSubjectsByEachOfItsTokens() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            HttpPeer alice = peer("alice", url);

            assertThat(alice.post(PING).statusCode()).isEqualTo(200);
            assertThat(alice.with(AUTHORIZATION, token("alice", url)).post(PING).statusCode())
                    .isEqualTo(200);
            HttpPeer bob = alice.with(AUTHORIZATION, token("bob", url));
            assertThat(bob.post(PING).statusCode()).isEqualTo(404);
            assertThat(Wait.until(bob.listened()).statusCode()).isEqualTo(404);
            assertThat(bob.delete().statusCode()).isEqualTo(404);
            assertThat(alice.with().post(PING).statusCode()).isEqualTo(401);
            assertThat(alice.delete().statusCode()).isEqualTo(200);
        }
    }

    @Test
    void theEndpointOfHttpSseIsAResourceOfItsOwn() {
        try (TestGateway gateway = gateway()) {
            URI mcp = gateway.url();
            URI sse = mcp.resolve("/sse");
            HttpPeer anybody = new HttpPeer(sse);

            HttpResponse<Stream<String>> refused = Wait.until(anybody.listened());
            assertThat(refused.statusCode()).isEqualTo(401);
            assertThat(refused.headers().firstValue(CHALLENGE).orElse("")).contains(place(sse));
            assertThat(anybody.get("/.well-known/oauth-protected-resource/sse")
                            .body()
                            .replace("\\/", "/"))
                    .contains("\"resource\":\"" + sse + "\"");
            HttpPeer alice = anybody.with(AUTHORIZATION, token("alice", mcp));
            assertThat(Wait.until(alice.listened()).statusCode()).isEqualTo(401);
            try (Stream<String> lines = Wait.until(
                            anybody.with(AUTHORIZATION, token("alice", sse)).listened())
                    .body()) {
                String endpoint = lines.filter(line -> line.startsWith("data:"))
                        .findFirst()
                        .orElseThrow()
                        .substring("data:".length())
                        .strip();
                assertThat(asked(sse.resolve(endpoint), token("alice", sse)).statusCode())
                        .isEqualTo(202);
            }
        }
    }

    @Test
    void aStrangerLearnsWhereTheMetadataIsAndWhichScopesItNeeds() {
        try (TestGateway gateway = gateway("--oauth-scope", "files:read,files:write")) {
            URI url = gateway.url();
            HttpResponse<String> stranger = new HttpPeer(url).post(TestJson.INITIALIZE);

            assertThat(stranger.statusCode()).isEqualTo(401);
            assertThat(challenge(stranger)).isEqualTo("Bearer scope=\"files:read files:write\", " + place(url));
            String metadata = "{\"resource\":\"" + url + "\",\"authorization_servers\":[\"" + provider.issuer()
                    + "\"],\"bearer_methods_supported\":[\"header\"],"
                    + "\"scopes_supported\":[\"files:read\",\"files:write\"]}";
            for (String path : List.of("", "/", "/mcp", "/mcp/")) {
                HttpResponse<String> told = new HttpPeer(url).get("/.well-known/oauth-protected-resource" + path);
                assertThat(told.body().replace("\\/", "/")).as(path).isEqualTo(metadata);
                assertThat(told.headers().firstValue("Access-Control-Allow-Origin"))
                        .hasValue("*");
            }
            assertThat(new HttpPeer(url)
                            .get("/.well-known/oauth-protected-resource/other")
                            .statusCode())
                    .isEqualTo(404);
        }
    }

    @Test
    void aTokenNeedsAllScopesHoweverItNamesThem() {
        try (TestGateway gateway = gateway("--oauth-scope", "a", "--oauth-scope", "b")) {
            URI url = gateway.url();
            Map.<Object, Integer>of("a b", 200, List.of("b", "c", "a"), 200, "a", 403, "ab", 403, "", 403, 7, 403)
                    .forEach((scopes, status) -> {
                        HttpResponse<String> answer = asked(
                                url,
                                bearer(provider.token(
                                        provider.claims("alice", url.toString()).claim("scope", scopes))));
                        assertThat(answer.statusCode()).as(scopes.toString()).isEqualTo(status);
                        if (status == 403) {
                            assertThat(challenge(answer))
                                    .isEqualTo("Bearer error=\"insufficient_scope\", scope=\"a b\", " + place(url));
                        }
                    });
            assertThat(asked(
                                    url,
                                    bearer(provider.token(provider.claims("alice", url.toString())
                                            .claim("scp", List.of("a", "b")))))
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    private static JWTClaimsSet.Builder lasting(JWTClaimsSet.Builder claims, Duration time) {
        return claims.expirationTime(Date.from(Instant.now().plus(time)));
    }

    /** Signed by the public key, as if that were a secret. */
    private String macced(JWTClaimsSet.Builder claims, byte[] secret) throws JOSEException {
        SignedJWT jwt = new SignedJWT(
                new JWSHeader.Builder(JWSAlgorithm.HS256)
                        .keyID(provider.key().getKeyID())
                        .build(),
                claims.build());
        jwt.sign(new MACSigner(secret));
        return jwt.serialize();
    }

    private String bad(String kind, String audience) throws JOSEException {
        JWTClaimsSet.Builder claims = provider.claims("alice", audience);
        return switch (kind) {
            case "expired" -> provider.token(lasting(claims, Duration.ofSeconds(-31)));
            case "not yet valid" ->
                provider.token(claims.notBeforeTime(Date.from(Instant.now().plusSeconds(40))));
            case "without an end" -> provider.token(claims.expirationTime(null));
            case "for another audience" -> provider.token(claims.audience("http://127.0.0.1:1/mcp"));
            case "for the beginning of the audience" ->
                provider.token(claims.audience(audience.substring(0, audience.length() - 1)));
            case "for no audience" -> provider.token(claims.audience((String) null));
            case "of another issuer" -> provider.token(claims.issuer("https://evil.example"));
            case "of no issuer" -> provider.token(claims.issuer(null));
            case "of nobody" -> provider.token(claims.subject(null));
            case "of an empty subject" -> provider.token(claims.subject(""));
            case "of a long subject" -> provider.token(claims.subject("s".repeat(256)));
            case "by another key of the same name" ->
                provider.token(claims, IdentityProvider.key(provider.key().getKeyID()), JOSEObjectType.JWT);
            case "of another type" -> provider.token(claims, provider.key(), new JOSEObjectType("dpop+jwt"));
            case "alg none" -> new PlainJWT(claims.build()).serialize();
            case "alg none with a signature" -> new PlainJWT(claims.build()).serialize() + "c2ln";
            case "HS256 with the public key" ->
                macced(claims, provider.key().toRSAPublicKey().getEncoded());
            case "HS256 with the public key as text" ->
                macced(claims, provider.key().toPublicJWK().toJSONString().getBytes(UTF_8));
            case "no JWT" -> "no-jwt-at-all";
            case "empty parts" -> "..";
            default -> throw new IllegalArgumentException(kind);
        };
    }

    @Test
    void aTokenThatIsNotRightOpensNothing() throws JOSEException {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            HttpPeer alice = peer("alice", url);
            for (String kind : KINDS) {
                String token = bearer(bad(kind, url.toString()));

                HttpResponse<String> answer = asked(url, token);

                assertThat(answer.statusCode()).as(kind).isEqualTo(401);
                assertThat(challenge(answer)).isEqualTo("Bearer error=\"invalid_token\", " + place(url));
                assertThat(alice.with(AUTHORIZATION, token).post(PING).statusCode())
                        .as(kind)
                        .isEqualTo(401);
            }
            assertThat(alice.post(PING).statusCode()).isEqualTo(200);
            assertThat(gateway.gateway.engine().size()).isOne();
        }
    }

    @Test
    void noTokenForgesALineOfTheLog() {
        Logger logger = (Logger) LoggerFactory.getLogger(AccessTokens.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        logger.setLevel(Level.DEBUG);
        try (TestGateway gateway = gateway()) {
            JOSEObjectType type =
                    new JOSEObjectType("x\n2026-11-29 12:00:00.000 ERROR the store is lost\u2028\u001b[2J");
            JWTClaimsSet.Builder claims = provider.claims("eve", gateway.url().toString());

            assertThat(asked(gateway.url(), bearer(provider.token(claims, provider.key(), type)))
                            .statusCode())
                    .isEqualTo(401);
        } finally {
            logger.setLevel(null);
            logger.detachAppender(log);
        }
        assertThat(log.list)
                .singleElement()
                .satisfies(line -> assertThat(line.getFormattedMessage())
                        .startsWith("a token is refused: ")
                        .contains("ERROR the store is lost")
                        .doesNotContainPattern("[\\p{Cntrl}\u2028]"));
    }

    @Test
    void theTypeOfATokenMayBeMissingAndItsAudienceOneOfMany() {
        try (TestGateway gateway = gateway("--oauth-audience", "api://tools", "--oauth-audience", "api://more")) {
            JWTClaimsSet.Builder claims =
                    provider.claims("alice", "").audience(List.of("https://else.example", "api://more"));

            assertThat(asked(gateway.url(), bearer(provider.token(claims, provider.key(), new JOSEObjectType("JWT"))))
                            .statusCode())
                    .isEqualTo(200);
            assertThat(asked(gateway.url(), token("alice", gateway.url())).statusCode())
                    .as("the URL, where other audiences are named")
                    .isEqualTo(401);
        }
    }

    @Test
    void aNewKeyIsFetchedAndAnOldOneIsNoneAnyMore() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            String old = token("alice", url);
            HttpPeer alice = HttpPeer.connected(url, AUTHORIZATION, old);
            provider.rotate("second");
            HttpPeer renewed = alice.with(AUTHORIZATION, token("alice", url));

            Wait.until("the new key counts", () -> renewed.post(PING).statusCode() == 200);
            Wait.until("the old one is none", () -> alice.post(PING).statusCode() == 401);
            assertThat(renewed.post(PING).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void whoMakesKeysUpHasNoNewOneRefused() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            String madeUp = bearer(provider.token(
                    provider.claims("eve", url.toString()),
                    new RSAKey.Builder(provider.key()).keyID("made up").build(),
                    JOSEObjectType.JWT));
            Wait.until(
                    "a key is looked for, and is none", () -> asked(url, madeUp).statusCode() == 401);
            provider.rotate("second");
            String renewed = token("alice", url);
            Set<Integer> statuses = new HashSet<>();

            Wait.until("the new key counts", () -> {
                int status = asked(url, renewed).statusCode();
                statuses.add(status);
                return status == 200;
            });

            assertThat(statuses).containsExactlyInAnyOrder(503, 200);
        }
    }

    @Test
    void keysStayWhileTheProviderIsAwayAndANewOneWaitsForIt() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            HttpPeer alice = peer("alice", url);
            provider.leave();
            provider.rotate("second");
            String unknown = token("alice", url);

            Wait.until("nobody can tell", () -> asked(url, unknown).statusCode() == 503);
            assertThat(asked(url, unknown).headers().firstValue("Retry-After")).hasValue("1");
            assertThat(alice.post(PING).statusCode()).isEqualTo(200);

            provider.come();
            Wait.until("it is asked again", () -> asked(url, unknown).statusCode() == 200);
        }
    }

    @Test
    void aGatewayStartsWithoutItsProviderAndServesWhenThatIsThere() {
        provider.leave();
        try (TestGateway gateway = gateway()) {
            assertThat(asked(gateway.url(), token("alice", gateway.url())).statusCode())
                    .isEqualTo(503);
            assertThat(new HttpPeer(gateway.url()).post(TestJson.INITIALIZE).statusCode())
                    .isEqualTo(401);

            provider.come();

            HttpPeer.connectedAtLast(gateway.url(), AUTHORIZATION, token("alice", gateway.url()));
        }
    }

    @Test
    void aFloodOfBadTokensAsksTheProviderOncePerPauseAndLetsOthersIn() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            HttpPeer alice = peer("alice", url);
            String good = provider.token(provider.claims("alice", url.toString()));
            Random random = new Random(42);
            List<String> tokens = IntStream.range(0, 64)
                    .mapToObj(number -> switch (number % 3) {
                        case 0 ->
                            provider.token(
                                    provider.claims("eve", url.toString()),
                                    new RSAKey.Builder(provider.key())
                                            .keyID("no " + number)
                                            .build(),
                                    JOSEObjectType.JWT);
                        case 1 -> good.substring(0, good.length() - 20) + "A".repeat(20);
                        default -> {
                            char[] changed = good.toCharArray();
                            int at = random.nextInt(changed.length - 10);
                            changed[at] = (char) ('!' + (changed[at] - '!' + 1 + random.nextInt(89)) % 90);
                            yield new String(changed);
                        }
                    })
                    .toList();
            int before = provider.asked.size();
            Map<Integer, AtomicInteger> statuses = new ConcurrentHashMap<>();
            long began = System.nanoTime();

            CompletableFuture.allOf(IntStream.range(0, CLIENTS)
                            .mapToObj(client -> CompletableFuture.runAsync(() -> {
                                for (int i = client; i < FLOOD; i += CLIENTS) {
                                    int status = asked(url, bearer(tokens.get(i % tokens.size())))
                                            .statusCode();
                                    statuses.computeIfAbsent(status, first -> new AtomicInteger())
                                            .incrementAndGet();
                                }
                            }))
                            .toArray(CompletableFuture<?>[]::new))
                    .orTimeout(100, TimeUnit.SECONDS)
                    .join();

            double seconds = (System.nanoTime() - began) / 1e9;
            int fetched = (provider.asked.size() - before + 1) / 2;
            System.out.printf(
                    "%d bad tokens in %.1f s, %.0f per second, of which %s; keys fetched %d times%n",
                    FLOOD, seconds, FLOOD / seconds, statuses, fetched);
            assertThat(statuses.keySet()).isSubsetOf(401, 503);
            assertThat(fetched).isBetween(1, (int) (seconds / 5) + 1);
            assertThat(alice.post(PING).statusCode()).isEqualTo(200);
            assertThat(gateway.gateway.engine().size()).isOne();
        }
    }

    @Test
    void aListeningStreamEndsInOrderWithItsTokenAndACallGoesOn() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            HttpPeer alice = peer("alice", url);
            String last = bearer(provider.token(lasting(provider.claims("alice", url.toString()), NEARLY_OVER)));
            HttpPeer nearlyOver = alice.with(AUTHORIZATION, last);
            long began = System.nanoTime();
            CompletableFuture<HttpResponse<Stream<String>>> call = nearlyOver.posted(
                    "{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'slow','arguments':{'ms':10000,'steps':1}}}");
            HttpResponse<Stream<String>> listening = Wait.until(nearlyOver.listened());
            assertThat(listening.statusCode()).isEqualTo(200);
            List<String> heard = listening.body().toList();

            assertThat(Duration.ofNanos(System.nanoTime() - began))
                    .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(20));
            assertThat(nearlyOver.post(PING).statusCode()).isEqualTo(401);
            assertThat(Wait.until(nearlyOver.listened()).statusCode()).isEqualTo(401);
            assertThat(Wait.until(call).body()).anyMatch(line -> line.contains("10000 ms"));
            String position = heard.stream()
                    .filter(line -> line.startsWith("id:"))
                    .reduce((first, second) -> second)
                    .orElseThrow()
                    .substring("id:".length())
                    .strip();
            assertThat(Wait.until(alice.resumed(position)).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void aSubscriptionWithoutASessionEndsWithItsToken() {
        try (TestGateway gateway = gateway()) {
            URI url = gateway.url();
            String last = bearer(provider.token(lasting(provider.claims("alice", url.toString()), NEARLY_OVER)));
            ModernPeer alice = new ModernPeer(url, ModernPeer.NOTHING, List.of(AUTHORIZATION, last));

            HttpResponse<Stream<String>> listening =
                    Wait.until(alice.posted("subscriptions/listen", "", "'notifications':{'toolsListChanged':true}"));

            assertThat(listening.statusCode()).isEqualTo(200);
            assertThat(listening.body()).anyMatch(line -> line.contains("\"id\":7"));
            assertThat(asked(url, last).statusCode()).isEqualTo(401);
        }
    }

    @Test
    void eachServerOfAFileIsAResourceOfItsOwn() throws IOException {
        Path file = folder.resolve("servers.json");
        Files.writeString(file, TestJson.of("""
                {'mcpServers': {
                  'a': {'command': 'cat', 'holdfast': {'oauth-scope': ['a']}},
                  'b': {'command': 'cat', 'holdfast': {'oauth-audience': 'api://b', 'base-url': 'https://b.example/x'}},
                  'none': {'command': '/no/such/command'}
                }}"""));
        try (TestGateway gateway = gateway("--config", file.toString())) {
            URI a = gateway.url().resolve("/a/mcp");
            URI b = gateway.url().resolve("/b/mcp");
            URI none = gateway.url().resolve("/none/mcp");
            String forA =
                    bearer(provider.token(provider.claims("alice", a.toString()).claim("scope", "a")));
            HttpPeer anybody = new HttpPeer(gateway.url());

            assertThat(challenge(new HttpPeer(a).delete())).isEqualTo("Bearer scope=\"a\", " + place(a));
            assertThat(challenge(new HttpPeer(b).delete()))
                    .isEqualTo("Bearer resource_metadata=\"https://b.example/x"
                            + "/.well-known/oauth-protected-resource/b/mcp\"");
            assertThat(anybody.get("/.well-known/oauth-protected-resource/b/mcp")
                            .body()
                            .replace("\\/", "/"))
                    .contains("\"resource\":\"https://b.example/x/b/mcp\"");
            // whom an endpoint knows, it answers 404: there is no such session
            assertThat(new HttpPeer(a)
                            .with(AUTHORIZATION, forA)
                            .at(a)
                            .get("/a/mcp")
                            .statusCode())
                    .isEqualTo(401);
            assertThat(deleted(a, forA)).isEqualTo(400);
            assertThat(deleted(b, forA)).isEqualTo(401);
            assertThat(deleted(b, bearer(provider.token(provider.claims("alice", "api://b")))))
                    .isEqualTo(400);
            assertThat(deleted(a, token("alice", a))).isEqualTo(403);
            assertThat(deleted(none, forA)).isEqualTo(401);
            assertThat(deleted(none, token("alice", none))).isEqualTo(503);
            String root = "http://127.0.0.1:" + gateway.url().getPort();
            assertThat(anybody.get("/.well-known/oauth-protected-resource")
                            .body()
                            .replace("\\/", "/"))
                    .contains("\"resource\":\"" + root + "\"");
            assertThat(anybody.get("/stats").statusCode()).isEqualTo(401);
            assertThat(anybody.get("/stats", AUTHORIZATION, forA).statusCode()).isEqualTo(401);
            for (String audience : List.of(root, root + "/")) {
                String forAll = bearer(provider.token(provider.claims("alice", audience)));
                assertThat(anybody.get("/stats", AUTHORIZATION, forAll).statusCode())
                        .isEqualTo(200);
            }
        }
    }

    private static int deleted(URI url, String token) {
        return new HttpPeer(url).with(AUTHORIZATION, token).delete().statusCode();
    }

    @Test
    void whereOthersReachItAGatewayHasToKnowItsUrl() throws IOException {
        String host = OutsideAddress.find()
                .orElseThrow(() -> new AssertionError("this machine has no other address than loopback"));

        assertThatThrownBy(() -> gateway("--host", host).close())
                .isInstanceOf(GatewayException.class)
                .hasMessageContaining("say by --base-url");
        try (TestGateway gateway = gateway("--host", host, "--base-url", "https://mcp.example", "--no-sse")) {
            assertThat(asked(gateway.url(), token("alice", gateway.url())).statusCode())
                    .isEqualTo(401);
            assertThat(asked(gateway.url(), token("alice", URI.create("https://mcp.example/mcp")))
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    @Test
    void whatTheCommandLineSaysIsOneResource() {
        ServeOptions options = TestGateway.options(
                Optional.empty(),
                "--oauth-issuer",
                "https://login.example/realm",
                "--base-url",
                "/tools",
                "--path",
                "/");

        assertThat(new OAuthServer("https://login.example/realm", () -> "http://localhost:1")
                        .resource(options, options.path()))
                .satisfies(resource -> {
                    assertThat(resource.url()).hasToString("http://localhost:1/tools");
                    assertThat(resource.metadata())
                            .hasToString("http://localhost:1/tools/.well-known/oauth-protected-resource");
                    assertThat(resource.audiences())
                            .containsExactlyInAnyOrder("http://localhost:1/tools", "http://localhost:1/tools/");
                });
    }
}
