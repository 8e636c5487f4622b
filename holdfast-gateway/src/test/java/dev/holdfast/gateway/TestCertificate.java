package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateEncodingException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate for 127.0.0.1 and localhost that keytool has made, with those of its issuers, and its key. */
public record TestCertificate(KeyStore store, List<Certificate> chain, PrivateKey key) {
    public static final String PASSWORD = "changeit";

    private static final String STORE = "made.p12";
    private static final String ROOT = "root";

    /**
     * Makes one that has signed itself.
     *
     * @param folder where its key store is put, as {@code made.p12} with this password
     * @param words more for keytool: {@code -keyalg} and what it wants for that
     */
    public static TestCertificate make(Path folder, String... words) throws Exception {
        Files.deleteIfExists(folder.resolve(STORE));
        generate(folder, "server", words);
        return read(folder);
    }

    /** The same with the certificate of an issuer. */
    public static TestCertificate issued(Path folder) throws Exception {
        Files.deleteIfExists(folder.resolve(STORE));
        generate(folder, ROOT, "-keyalg", "EC", "-ext", "bc:c");
        generate(folder, "server", "-keyalg", "EC", "-signer", ROOT);
        return read(folder);
    }

    private static void generate(Path folder, String alias, String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-XX:TieredStopAtLevel=1",
                "-J-XX:+UseSerialGC",
                "-genkeypair",
                "-alias",
                alias,
                "-dname",
                "CN=" + alias,
                "-ext",
                "san=ip:127.0.0.1,dns:localhost",
                "-keystore",
                STORE,
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD));
        command.addAll(List.of(words));
        Process keytool = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(keytool.getInputStream().readAllBytes(), UTF_8);
        assertThat(keytool.waitFor()).as(said).isZero();
    }

    private static TestCertificate read(Path folder) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve(STORE))) {
            store.load(in, PASSWORD.toCharArray());
        }
        return new TestCertificate(store, Arrays.asList(store.getCertificateChain("server")), (PrivateKey)
                store.getKey("server", PASSWORD.toCharArray()));
    }

    /** The certificates as a file in PEM. */
    public String pem() {
        return chain.stream().map(each -> block("CERTIFICATE", encoded(each))).collect(Collectors.joining());
    }

    /** The key as a file in PEM. */
    public String keyPem() {
        return block("PRIVATE KEY", key.getEncoded());
    }

    public static String block(String type, byte[] der) {
        return "-----BEGIN " + type + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der) + "\n-----END " + type + "-----\n";
    }

    private static byte[] encoded(Certificate certificate) {
        try {
            return certificate.getEncoded();
        } catch (CertificateEncodingException e) {
            throw new AssertionError(e);
        }
    }

    /** Puts both into the files {@code tls.crt} and {@code tls.key} of a folder. */
    public TestCertificate into(Path folder) throws IOException {
        Path secret = folder.resolve("tls.key");
        Files.writeString(folder.resolve("tls.crt"), pem());
        Files.writeString(secret, keyPem());
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        return this;
    }

    /** What a client trusts these with, and others beside them. */
    public static SSLContext trusting(TestCertificate... known) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        for (int i = 0; i < known.length; i++) {
            List<Certificate> chain = known[i].chain;
            trusted.setCertificateEntry("trusted" + i, chain.get(chain.size() - 1));
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }
}
