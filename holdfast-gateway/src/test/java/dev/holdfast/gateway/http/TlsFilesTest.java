package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.TestCertificate;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** Certificate and key as files: which are taken, what is said of others, and what a change does. */
@Tag("jdk")
@Timeout(60)
class TlsFilesTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private static Path store;

    @SuppressWarnings("NullAway.Init")
    private static TestCertificate one;

    @SuppressWarnings("NullAway.Init")
    private static TestCertificate other;

    @SuppressWarnings("NullAway.Init")
    private static TestCertificate issued;

    private final Logger logger = (Logger) LoggerFactory.getLogger(TlsFiles.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final AtomicLong clock = new AtomicLong();
    private volatile Instant now = Instant.now();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @BeforeAll
    static void make() throws Exception {
        one = TestCertificate.make(store, "-keyalg", "RSA");
        other = TestCertificate.make(store, "-keyalg", "EC");
        issued = TestCertificate.issued(store);
    }

    @BeforeEach
    void listen() {
        logger.setLevel(Level.INFO);
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void forget() {
        logger.detachAppender(log);
        logger.setLevel(null);
    }

    private List<String> lines() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    private TlsFiles opened() {
        return TlsFiles.open(
                new OptionFile("--tls-cert", folder.resolve("tls.crt")),
                new OptionFile("--tls-key", folder.resolve("tls.key")),
                () -> now,
                clock::get);
    }

    private TlsFiles opened(String certificates, String key) throws IOException {
        Files.writeString(folder.resolve("tls.crt"), certificates, ISO_8859_1);
        Files.writeString(folder.resolve("tls.key"), key, ISO_8859_1);
        return opened();
    }

    private static Certificate served(TlsFiles files) throws GeneralSecurityException {
        return files.context().getKeyStore().getCertificate("server");
    }

    /** What is in the octet string of PKCS#8: the key in the form of its algorithm. */
    private static byte[] unwrapped(TestCertificate certificate) {
        ByteBuffer der = ByteBuffer.wrap(certificate.key().getEncoded());
        enter(der);
        der.position(der.position() + 3);
        int algorithm = enter(der);
        der.position(der.position() + algorithm);
        byte[] key = new byte[enter(der)];
        der.get(key);
        return key;
    }

    private static int enter(ByteBuffer der) {
        der.get();
        int first = Byte.toUnsignedInt(der.get());
        int length = first < 0x80 ? first : 0;
        for (int i = 0; first > 0x80 && i < first - 0x80; i++) {
            length = (length << 8) | Byte.toUnsignedInt(der.get());
        }
        return length;
    }

    @Test
    void keysOfAllUsualFormsAreRead() throws Exception {
        String rsa = TestCertificate.block("RSA PRIVATE KEY", unwrapped(one));
        String ec = TestCertificate.block("EC PRIVATE KEY", unwrapped(other));
        String parameters = TestCertificate.block("EC PARAMETERS", new byte[] {6, 1, 1});
        TestCertificate edwards = TestCertificate.make(store, "-keyalg", "Ed25519");

        assertThat(served(opened(one.pem(), one.keyPem())))
                .isEqualTo(one.chain().get(0));
        assertThat(served(opened(one.pem(), rsa))).isEqualTo(one.chain().get(0));
        assertThat(served(opened(other.pem(), other.keyPem())))
                .isEqualTo(other.chain().get(0));
        assertThat(served(opened(other.pem(), parameters + ec)))
                .isEqualTo(other.chain().get(0));
        assertThat(served(opened(edwards.pem(), edwards.keyPem())))
                .isEqualTo(edwards.chain().get(0));
    }

    @Test
    void theCertificatesOfIssuersAreServedTooAndTextBetweenThemIsLeftAside() throws Exception {
        String told = "subject=CN = server\r\n" + issued.pem().replace("\n-----BEGIN", "\n issuer: ü\n-----BEGIN");

        TlsFiles files = opened(told, issued.keyPem() + told);

        assertThat(files.context().getKeyStore().getCertificateChain("server"))
                .containsExactlyElementsOf(issued.chain())
                .hasSize(2);
    }

    @Test
    void whatIsWrongWithAFileIsSaid() {
        String pem = one.pem();
        String key = one.keyPem();
        String root =
                TestCertificate.block("CERTIFICATE", encoded(issued.chain().get(1)));
        String own = TestCertificate.block("CERTIFICATE", encoded(issued.chain().get(0)));

        assertRefused("", key, "--tls-cert", "has no certificate in PEM");
        assertRefused(key, key, "--tls-cert", "has no certificate in PEM");
        assertRefused(pem.substring(0, pem.length() - 40), key, "--tls-cert", "a part of it has no end");
        assertRefused(
                TestCertificate.block("CERTIFICATE", new byte[9]), key, "--tls-cert", "certificate 1 in it is damaged");
        assertRefused(pem, pem, "--tls-key", "has no private key in PEM");
        assertRefused(pem, key.substring(0, 200), "--tls-key", "a part of it has no end");
        assertRefused(
                pem,
                TestCertificate.block("PRIVATE KEY", new byte[9]),
                "--tls-key",
                "the PRIVATE KEY in it cannot be read");
        assertRefused(
                pem,
                TestCertificate.block("DSA PRIVATE KEY", new byte[9]),
                "--tls-key",
                "the DSA PRIVATE KEY in it cannot be read");
        assertRefused(
                pem,
                TestCertificate.block("ENCRYPTED PRIVATE KEY", new byte[9]),
                "--tls-key",
                "is encrypted; take its passphrase away");
        assertRefused(
                pem,
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
                "--tls-key",
                "is encrypted; take its passphrase away");
        assertRefused(pem, other.keyPem(), "--tls-key", "does not belong to the certificate of --tls-cert");
        assertRefused(
                pem,
                TestCertificate.block("EC PRIVATE KEY", unwrapped(other)),
                "--tls-key",
                "does not belong to the certificate");
        assertRefused(root + own, issued.keyPem(), "--tls-cert", "the certificate of the key is not the first in it");
        assertRefused(own + pem, issued.keyPem(), "--tls-cert", "certificate 2 in it has not issued certificate 1");
    }

    private void assertRefused(String certificates, String key, String option, String why) {
        assertThatThrownBy(() -> opened(certificates, key))
                .isInstanceOf(GatewayException.class)
                .hasMessageStartingWith(option + " ")
                .hasMessageContaining(why);
    }

    private static byte[] encoded(Certificate certificate) {
        try {
            return certificate.getEncoded();
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aFileThatIsNotThereIsSaid() {
        assertThatThrownBy(this::opened)
                .isInstanceOf(GatewayException.class)
                .hasMessageStartingWith("--tls-cert ")
                .hasMessageContaining("there is no such file");
    }

    @Test
    void aChangeIsTaken() throws Exception {
        TlsFiles files = opened(one.pem(), one.keyPem());
        files.look();
        assertThat(lines()).isEmpty();

        other.into(folder);
        files.look();

        assertThat(served(files)).isEqualTo(other.chain().get(0));
        assertThat(lines()).singleElement().asString().contains("was read again: the certificate is valid until");
    }

    /** As Kubernetes changes a secret: the files are links through a link, which is replaced. */
    @Test
    void aLinkThatPointsElsewhereIsAChange() throws Exception {
        one.into(Files.createDirectory(folder.resolve("first")));
        other.into(Files.createDirectory(folder.resolve("second")));
        Files.createSymbolicLink(folder.resolve("data"), Path.of("first"));
        for (String name : List.of("tls.crt", "tls.key")) {
            Files.createSymbolicLink(folder.resolve(name), Path.of("data", name));
        }
        TlsFiles files = opened();

        Files.createSymbolicLink(folder.resolve("next"), Path.of("second"));
        Files.move(folder.resolve("next"), folder.resolve("data"), StandardCopyOption.ATOMIC_MOVE);
        files.look();

        assertThat(served(files)).isEqualTo(other.chain().get(0));
    }

    @Test
    void aFaultyChangeChangesNothingAndIsToldWhenItStays() throws Exception {
        TlsFiles files = opened(one.pem(), one.keyPem());

        Files.writeString(folder.resolve("tls.crt"), other.pem());
        files.look();
        assertThat(lines()).isEmpty();
        files.look();
        files.look();
        assertThat(lines())
                .singleElement()
                .asString()
                .contains("does not belong to the certificate")
                .endsWith("; the certificate stays as it was");
        assertThat(served(files)).isEqualTo(one.chain().get(0));

        clock.addAndGet(TimeUnit.SECONDS.toNanos(11));
        Files.delete(folder.resolve("tls.key"));
        files.look();
        files.look();
        assertThat(lines()).hasSize(2).last().asString().contains("there is no such file");

        other.into(folder);
        files.look();
        assertThat(served(files)).isEqualTo(other.chain().get(0));
    }

    @ParameterizedTest
    @CsvSource({"-1, true", "1, false", "80, false", "88, true", "100, true"})
    void oneThatClientsRefuseSoonOrAlreadyIsTold(int days, boolean told) throws Exception {
        now = ((X509Certificate) one.chain().get(0)).getNotBefore().toInstant().plus(Duration.ofDays(days));

        opened(one.pem(), one.keyPem()).look();

        assertThat(lines()).hasSize(told ? 1 : 0).allMatch(line -> line.contains("the certificate is valid from "));
    }
}
