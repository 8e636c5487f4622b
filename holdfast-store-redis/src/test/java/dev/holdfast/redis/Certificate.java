package dev.holdfast.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/**
 * A certificate for 127.0.0.1 that nobody has signed but itself, and its key, as files.
 *
 * @param pem the certificate
 * @param key its private key
 */
public record Certificate(Path pem, Path key) {
    private static final String PASSWORD = "changeit";

    public static Certificate make(Path folder) {
        Path store = folder.resolve("store.p12");
        try {
            Process keytool = new ProcessBuilder(List.of(
                            Path.of(System.getProperty("java.home"), "bin", "keytool")
                                    .toString(),
                            "-J-XX:TieredStopAtLevel=1",
                            "-J-XX:+UseSerialGC",
                            "-genkeypair",
                            "-keyalg",
                            "RSA",
                            "-alias",
                            "redis",
                            "-dname",
                            "CN=127.0.0.1",
                            "-ext",
                            "san=ip:127.0.0.1",
                            "-storetype",
                            "PKCS12",
                            "-keystore",
                            store.toString(),
                            "-storepass",
                            PASSWORD))
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("keytool.log").toFile())
                    .start();
            if (keytool.waitFor() != 0) {
                throw new AssertionError(Files.readString(folder.resolve("keytool.log")));
            }
            KeyStore made = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(store)) {
                made.load(in, PASSWORD.toCharArray());
            }
            return new Certificate(
                    write(
                            folder.resolve("cert.pem"),
                            "CERTIFICATE",
                            made.getCertificate("redis").getEncoded()),
                    write(
                            folder.resolve("key.pem"),
                            "PRIVATE KEY",
                            made.getKey("redis", PASSWORD.toCharArray()).getEncoded()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Path write(Path file, String what, byte[] bytes) throws IOException {
        String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return Files.writeString(file, "-----BEGIN " + what + "-----\n" + lines + "\n-----END " + what + "-----\n");
    }
}
