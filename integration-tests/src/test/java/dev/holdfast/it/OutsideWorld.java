package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Stands in for every https site: the SDK's own tests fetch a page in the middle, and some fail where there is no way out to the
 * Internet. While it is open, the HTTP clients of this JVM that use its defaults get a greeting from whatever site they ask.
 */
final class OutsideWorld implements AutoCloseable {
    private static final char[] PASSWORD = "outside".toCharArray();
    private static final String PAGE =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nHello";

    private final ProxySelector proxyBefore = ProxySelector.getDefault();
    private final SSLContext tlsBefore = SSLContext.getDefault();
    private final ServerSocket proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final SSLContext tls;

    OutsideWorld() throws Exception {
        tls = SSLContext.getInstance("TLS");
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(certificate(), PASSWORD);
        tls.init(keys.getKeyManagers(), new TrustManager[] {new Trustful()}, new SecureRandom());
        SSLContext.setDefault(tls);
        ProxySelector.setDefault(new Detour());
        Thread thread = new Thread(this::serve, "outside-world");
        thread.setDaemon(true);
        thread.start();
    }

    private static KeyStore certificate()
            throws IOException, InterruptedException, java.security.GeneralSecurityException {
        Path folder = Files.createTempDirectory("outside");
        Path file = folder.resolve("keys");
        String password = new String(PASSWORD);
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-J-XX:TieredStopAtLevel=1",
                        "-J-XX:+UseSerialGC",
                        "-genkeypair",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=outside",
                        "-storetype",
                        "PKCS12",
                        "-keystore",
                        file.toString(),
                        "-storepass",
                        password,
                        "-keypass",
                        password)
                .redirectErrorStream(true)
                .start();
        String output = new String(keytool.getInputStream().readAllBytes(), US_ASCII);
        if (keytool.waitFor() != 0) {
            throw new IOException(output);
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD);
        }
        Files.delete(file);
        Files.delete(folder);
        return store;
    }

    private void serve() {
        while (!proxy.isClosed()) {
            try (Socket socket = proxy.accept()) {
                answer(socket);
            } catch (IOException e) {
                // the next one may be luckier; at the end the socket is closed
            }
        }
    }

    private void answer(Socket socket) throws IOException {
        socket.setSoTimeout(20_000);
        readHead(socket);
        socket.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\n".getBytes(US_ASCII));
        try (SSLSocket site = (SSLSocket) tls.getSocketFactory().createSocket(socket, null, socket.getPort(), true)) {
            site.setUseClientMode(false);
            readHead(site);
            site.getOutputStream().write(PAGE.getBytes(US_ASCII));
        }
    }

    private static void readHead(Socket socket) throws IOException {
        BufferedReader reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
        String line = reader.readLine();
        while (line != null && !line.isEmpty()) {
            line = reader.readLine();
        }
    }

    @Override
    public void close() throws IOException {
        ProxySelector.setDefault(proxyBefore);
        SSLContext.setDefault(tlsBefore);
        proxy.close();
    }

    /** Leads every https address to this proxy. */
    private final class Detour extends ProxySelector {
        @Override
        public List<Proxy> select(URI uri) {
            return "https".equals(uri.getScheme())
                    ? List.of(new Proxy(
                            Proxy.Type.HTTP, new InetSocketAddress(proxy.getInetAddress(), proxy.getLocalPort())))
                    : List.of(Proxy.NO_PROXY);
        }

        @Override
        public void connectFailed(URI uri, SocketAddress address, IOException failure) {}
    }

    /** Takes every site for what it claims to be. */
    private static final class Trustful extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
