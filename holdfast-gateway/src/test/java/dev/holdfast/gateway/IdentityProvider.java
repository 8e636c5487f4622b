package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** What a resource server sees of an authorization server: its metadata, its keys, and tokens of any kind. */
public final class IdentityProvider implements AutoCloseable {
    private static final String METADATA = "/.well-known/oauth-authorization-server";
    private static final int SECONDS = 300;

    /** Takes a while to make. */
    private static final RSAKey FIRST = key("first");

    private final InetSocketAddress address;
    /** Bodies by their paths. */
    private final Map<String, String> pages = new ConcurrentHashMap<>();
    /** The paths that were asked for. */
    public final List<String> asked = new CopyOnWriteArrayList<>();

    private HttpServer server;
    private RSAKey key;

    public IdentityProvider() {
        server = started(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        address = server.getAddress();
        key = FIRST;
        page(METADATA, "{\"issuer\":\"" + issuer() + "\",\"jwks_uri\":\"" + issuer() + "/keys\"}");
        publish(key);
    }

    private HttpServer started(InetSocketAddress at) {
        try {
            HttpServer http = HttpServer.create(at, 0);
            http.createContext("/", exchange -> {
                String path = exchange.getRequestURI().getPath();
                asked.add(path);
                byte[] body = pages.getOrDefault(path, "").getBytes(UTF_8);
                exchange.sendResponseHeaders(body.length == 0 ? 404 : 200, body.length == 0 ? -1 : body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
            http.start();
            return http;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public String issuer() {
        return "http://127.0.0.1:" + address.getPort();
    }

    /** Has a page from now on. */
    public void page(String path, String body) {
        pages.put(path, body);
    }

    /** Has no metadata any more where it was. */
    public void forgetMetadata() {
        pages.remove(METADATA);
    }

    static RSAKey key(String id) {
        try {
            return new RSAKeyGenerator(2048).keyID(id).keyUse(KeyUse.SIGNATURE).generate();
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The key by which it signs. */
    public RSAKey key() {
        return key;
    }

    /** Signs by another key from now on, and shows no other. */
    void rotate(String id) {
        key = key(id);
        publish(key);
    }

    private void publish(RSAKey shown) {
        page("/keys", new JWKSet(shown.toPublicJWK()).toString());
    }

    /** Is not there any more. */
    public void leave() {
        server.stop(0);
    }

    /** Is there again. */
    void come() {
        server = started(address);
    }

    /** What a token of a subject says for an audience. */
    public JWTClaimsSet.Builder claims(String subject, String audience) {
        Instant now = Instant.now();
        return new JWTClaimsSet.Builder()
                .issuer(issuer())
                .subject(subject)
                .audience(audience)
                .issueTime(Date.from(now))
                .expirationTime(Date.from(now.plusSeconds(SECONDS)));
    }

    /** A token. */
    public String token(JWTClaimsSet.Builder claims) {
        return token(claims, key, new JOSEObjectType("at+jwt"));
    }

    String token(JWTClaimsSet.Builder claims, RSAKey by, JOSEObjectType type) {
        try {
            SignedJWT jwt = new SignedJWT(
                    new JWSHeader.Builder(JWSAlgorithm.RS256)
                            .type(type)
                            .keyID(by.getKeyID())
                            .build(),
                    claims.build());
            jwt.sign(new RSASSASigner(by));
            return jwt.serialize();
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        leave();
    }
}
