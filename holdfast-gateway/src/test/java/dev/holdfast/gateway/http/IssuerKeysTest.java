package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.KeySourceException;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import dev.holdfast.gateway.IdentityProvider;
import dev.holdfast.gateway.Wait;
import java.net.URI;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class IssuerKeysTest {
    private static final String PLACE = "/.well-known/oauth-authorization-server";
    private static final String OPENID = "/.well-known/openid-configuration";

    private final AtomicLong clock = new AtomicLong(7);

    @AutoClose
    private final IdentityProvider provider = new IdentityProvider();

    private static JWKSelector named(String id) {
        return new JWKSelector(new JWKMatcher.Builder().keyID(id).build());
    }

    private static List<String> found(IssuerKeys keys, String id) throws KeySourceException {
        return keys.get(named(id), null).stream().map(JWK::getKeyID).toList();
    }

    private IssuerKeys keys(String path) {
        return new IssuerKeys(URI.create(provider.issuer() + path), clock::get);
    }

    private void later() {
        clock.addAndGet(IssuerKeys.PAUSE.toNanos());
    }

    @ParameterizedTest
    @CsvSource({
        "https://a.example, /.well-known/oauth-authorization-server /.well-known/openid-configuration",
        "https://a.example/, /.well-known/oauth-authorization-server /.well-known/openid-configuration",
        "https://a.example/b/c, /.well-known/oauth-authorization-server/b/c /.well-known/openid-configuration/b/c"
                + " /b/c/.well-known/openid-configuration"
    })
    void metadataIsLookedForInTheOrderOfMcp(String issuer, String paths) {
        assertThat(IssuerKeys.places(URI.create(issuer)))
                .extracting(URI::getPath)
                .containsExactly(paths.split(" "));
    }

    @ParameterizedTest
    @CsvSource({
        "https://a.example/b?c=d, true",
        "http://localhost:80/a, true",
        "http://127.1.2.3/a, true",
        "http://[::1]:1/a, true",
        "http://a.example/b, false",
        "http://127.0.0.1.example/b, false",
        "https://u:p@a.example/b, false",
        "https://a.example/b#c, false",
        "ftp://localhost/a, false",
        "https:///a, false",
        "https://a b, false"
    })
    void keysComeOverTlsOrFromThisMachine(String url, boolean safe) {
        assertThat(IssuerKeys.isSafe(url)).isEqualTo(safe);
    }

    @Test
    void keysAreFoundByOpenIdWhereThereIsNothingElse() throws KeySourceException {
        String issuer = provider.issuer() + "/realm";
        provider.page(
                "/realm" + OPENID, "{\"issuer\":\"" + issuer + "\",\"jwks_uri\":\"" + provider.issuer() + "/keys\"}");
        IssuerKeys keys = keys("/realm");

        keys.begin();

        assertThat(provider.asked).containsExactly(PLACE + "/realm", OPENID + "/realm", "/realm" + OPENID, "/keys");
        assertThat(found(keys, "first")).containsExactly("first");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'issuer':'https://evil.example','jwks_uri':'HERE/keys'}",
                "{'issuer':'HERE'}",
                "{'issuer':'HERE','jwks_uri':'http://evil.example/keys'}",
                "{'issuer':'HERE','jwks_uri':'file:///keys'}",
                "{'issuer':'HERE','jwks_uri':'HERE/none'}",
                "{'issuer':'HERE','jwks_uri':'HERE/page'}",
                "{'issuer':'HERE','jwks_uri':'HERE/empty'}",
                "{'issuer':7}",
                "<html>"
            })
    void whatIsNoMetadataOfTheIssuerGivesNoKeys(String metadata) {
        provider.page(PLACE, metadata.replace("HERE", provider.issuer()).replace('\'', '"'));
        provider.page("/page", "<html>");
        provider.page("/empty", "{\"keys\":[]}");
        IssuerKeys keys = keys("");

        keys.begin();

        assertThatThrownBy(() -> keys.get(named("first"), null)).isInstanceOf(KeySourceException.class);
    }

    private static void assertNotKnown(IssuerKeys keys, String id) {
        assertThatThrownBy(() -> found(keys, id)).as(id).isInstanceOf(KeySourceException.class);
    }

    @Test
    void anUnknownKeyIsLookedForOncePerPause() throws KeySourceException {
        IssuerKeys keys = keys("");
        keys.begin();
        for (int i = 0; i < 1_000; i++) {
            assertNotKnown(keys, "other");
        }
        assertThat(provider.asked).hasSize(2);

        later();

        assertNotKnown(keys, "other");
        Wait.until(keys.refresh());
        for (int i = 0; i < 1_000; i++) {
            assertThat(found(keys, "other")).isEmpty();
        }
        assertThat(provider.asked).hasSize(4);
    }

    @Test
    void aKeyThatWasLookedForInVainIsDeniedHoweverLateItIsAskedAgain() throws KeySourceException {
        IssuerKeys keys = keys("");
        keys.begin();
        assertNotKnown(keys, "other");
        later();
        Wait.until(keys.refresh());
        later();

        assertThat(found(keys, "other")).isEmpty();
    }

    @Test
    void aKeyThatIsNewIsNotDeniedInThePauseOfAnother() throws KeySourceException {
        IssuerKeys keys = keys("");
        keys.begin();
        later();
        assertNotKnown(keys, "made up");
        Wait.until(keys.refresh());
        JWK second = new RSAKey.Builder(provider.key()).keyID("second").build().toPublicJWK();
        provider.page("/keys", new JWKSet(second).toString());

        assertNotKnown(keys, "second");
        assertThat(found(keys, "made up")).isEmpty();
        assertThat(found(keys, "first")).containsExactly("first");

        later();
        assertNotKnown(keys, "second");
        Wait.until(keys.refresh());
        assertThat(found(keys, "second")).containsExactly("second");
        assertNotKnown(keys, "first");
    }

    @Test
    void ofAFloodOfMadeUpKeysSomeAreKeptAndNoneIsTakenForKnown() throws KeySourceException {
        IssuerKeys keys = keys("");
        keys.begin();
        for (int i = 0; i < 2_000; i++) {
            assertNotKnown(keys, "made up " + i);
        }
        later();
        Wait.until(keys.refresh());

        assertThat(found(keys, "made up 0")).isEmpty();
        assertNotKnown(keys, "made up 1999");
        assertThat(provider.asked).hasSize(4);
    }

    @Test
    void aProviderThatFailsTakesNoKeyAway() throws KeySourceException {
        IssuerKeys keys = keys("");
        keys.begin();
        provider.forgetMetadata();
        later();
        Wait.until(keys.refresh());
        assertThat(found(keys, "first")).containsExactly("first");
        provider.leave();
        later();
        Wait.until(keys.refresh());

        assertThat(found(keys, "first")).containsExactly("first");
        assertThatThrownBy(() -> keys.get(named("other"), null)).isInstanceOf(KeySourceException.class);
    }

    @Test
    void nobodyWaitsForAProviderThatIsSilent() throws Exception {
        try (java.net.ServerSocket silent =
                new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
            IssuerKeys keys = new IssuerKeys(URI.create("http://127.0.0.1:" + silent.getLocalPort()), clock::get);
            long began = System.nanoTime();
            for (int i = 0; i < 1_000; i++) {
                assertThatThrownBy(() -> keys.get(named("first"), null)).isInstanceOf(KeySourceException.class);
            }
            assertThat(System.nanoTime() - began).isLessThan(TimeUnit.SECONDS.toNanos(5));
            assertThat(keys.refresh()).isNotDone();

            Wait.until(keys.refresh());
        }
    }
}
