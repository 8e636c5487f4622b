package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A gateway in front of an upstream over TLS, which is trusted by what the JVM trusts. */
@Tag("jdk")
@Timeout(180)
class UpstreamTlsTest {
    private static final String PASSWORD = "changeit";
    private static final String ALIAS = "upstream";
    private static final String NOT_TRUSTED = "the certificate of the upstream is not trusted";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    /** An upstream with a certificate for this name, which stands in {@code trusted.p12}. */
    private ScriptedUpstream upstream(String name) throws Exception {
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        Process process = new ProcessBuilder(
                        keytool.toString(),
                        "-J-XX:TieredStopAtLevel=1",
                        "-J-XX:+UseSerialGC",
                        "-genkeypair",
                        "-alias",
                        ALIAS,
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=upstream",
                        "-ext",
                        "san=" + name,
                        "-keystore",
                        "upstream.p12",
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        PASSWORD)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(said).isZero();

        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve("upstream.p12"))) {
            keys.load(in, PASSWORD.toCharArray());
        }
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry(ALIAS, keys.getCertificate(ALIAS));
        try (OutputStream out = Files.newOutputStream(folder.resolve("trusted.p12"))) {
            trusted.store(out, PASSWORD.toCharArray());
        }
        return new ScriptedUpstream(tls(keys));
    }

    private static SSLContext tls(KeyStore keys) throws GeneralSecurityException {
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, PASSWORD.toCharArray());
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(managers.getKeyManagers(), null, null);
        return tls;
    }

    /** A gateway in a JVM that trusts what is in {@code trusted.p12}. */
    private GatewayProcess trusting(ScriptedUpstream upstream) throws IOException {
        return GatewayProcess.start(
                folder,
                List.of(
                        "-Djavax.net.ssl.trustStore=" + folder.resolve("trusted.p12"),
                        "-Djavax.net.ssl.trustStorePassword=" + PASSWORD),
                List.of("serve", "--port", "0", "--store", "memory", "--upstream", "" + upstream.url()));
    }

    @Test
    void anUpstreamInTheTrustStoreOfTheJvmIsServed() throws Exception {
        try (ScriptedUpstream upstream = upstream("ip:127.0.0.1");
                GatewayProcess gateway = trusting(upstream)) {
            assertThat(upstream.url()).hasScheme("https");
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        }
    }

    @Test
    void oneThatIsNotTrustedIsNamedAsThatWithoutAWait() throws Exception {
        try (ScriptedUpstream upstream = upstream("ip:127.0.0.1");
                TestGateway gateway = TestGateway.before(upstream.url())) {
            assertThat(new HttpPeer(gateway.url()).post(TestJson.INITIALIZE).body())
                    .contains(NOT_TRUSTED);
            assertThat(upstream.asked).isEmpty();
        }
    }

    @Test
    void oneWithTheCertificateOfAnotherNameIsNotTrusted() throws Exception {
        try (ScriptedUpstream upstream = upstream("dns:elsewhere.example");
                GatewayProcess gateway = trusting(upstream)) {
            assertThat(new HttpPeer(gateway.url()).post(TestJson.INITIALIZE).body())
                    .contains(NOT_TRUSTED);
            assertThat(upstream.asked).isEmpty();
        }
    }
}
