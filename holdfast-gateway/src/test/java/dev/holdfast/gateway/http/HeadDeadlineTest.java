package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.TestCertificate;
import dev.holdfast.gateway.TestGateway;
import dev.holdfast.gateway.Wait;
import dev.holdfast.json.JsonRpc;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** A head that drips in is cut off, however many bytes it has; a response may take as long as it wants. */
@Tag("jdk")
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
@ParameterizedClass(name = "with TLS: {0}")
@ValueSource(booleans = {false, true})
class HeadDeadlineTest {
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final long DRIP_MILLIS = 100;
    private static final String WHOLE = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /** Answers when it is told to. */
    private static final class Held extends HttpServlet {
        private final transient BlockingQueue<AsyncContext> requests = new LinkedBlockingQueue<>();

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            AsyncContext async = request.startAsync();
            async.setTimeout(0);
            requests.add(async);
        }

        void answer() throws Exception {
            AsyncContext async = requests.poll(Wait.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            assertThat(async).isNotNull();
            HttpServletResponse response = (HttpServletResponse) async.getResponse();
            response.setContentLength(2);
            response.getOutputStream().write("ok".getBytes(US_ASCII));
            async.complete();
        }
    }

    private final Held held = new Held();
    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final boolean secured;
    private final WebServer web;
    private Optional<SSLContext> trusting = Optional.empty();

    HeadDeadlineTest(boolean secured, @TempDir Path folder) throws Exception {
        this.secured = secured;
        Optional<TlsFiles> certificate = Optional.empty();
        if (secured) {
            TestCertificate made = TestCertificate.make(folder, "-keyalg", "EC").into(folder);
            trusting = Optional.of(TestCertificate.trusting(made));
            certificate = Optional.of(ConnectionResetTest.files(folder));
        }
        web = WebServer.listen("127.0.0.1", InetAddress.getLoopbackAddress(), 0, LIMIT, Wait.PATIENCE, certificate);
    }

    @BeforeEach
    void start() {
        TestGateway.serve(web, held, engine, () -> "");
    }

    @AfterEach
    void stop() {
        web.stop();
        engine.close();
    }

    /** Tries again where a handshake took a busy machine longer than a head may take. */
    private Socket connection() throws IOException {
        long start = System.nanoTime();
        while (true) {
            Socket socket = trusting.isPresent()
                    ? trusting.get().getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), web.port())
                    : plain();
            try {
                socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
                if (socket instanceof SSLSocket tls) {
                    tls.startHandshake();
                }
                return socket;
            } catch (SSLException | SocketException cutOff) {
                socket.close();
                if (System.nanoTime() - start > Wait.PATIENCE.toNanos()) {
                    throw cutOff;
                }
            }
        }
    }

    private Socket plain() throws IOException {
        return new Socket(InetAddress.getLoopbackAddress(), web.port());
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(US_ASCII));
    }

    /** Reads one answer that ends with {@code ok}. */
    private static void assertAnswered(Socket socket) throws IOException {
        StringBuilder answer = new StringBuilder();
        InputStream in = socket.getInputStream();
        while (!answer.toString().endsWith("\r\n\r\nok")) {
            int next = in.read();
            assertThat(next).as("after %s", answer).isNotNegative();
            answer.append((char) next);
        }
        assertThat(answer.toString()).startsWith("HTTP/1.1 200 ");
    }

    /** Sends a header without an end, a letter now and then, for as long as that is taken, within bounds. */
    private static Duration drip(Socket socket) throws Exception {
        return drip(socket, "GET /mcp HTTP/1.1\r\nX: ");
    }

    private static Duration drip(Socket socket, String beginning) throws Exception {
        long start = System.nanoTime();
        try {
            send(socket, beginning);
            while (System.nanoTime() - start < Wait.PATIENCE.toNanos()) {
                send(socket, "x");
                TimeUnit.MILLISECONDS.sleep(DRIP_MILLIS);
            }
        } catch (SocketException | SSLException closed) {
            // that is what it waits for
        }
        return Duration.ofNanos(System.nanoTime() - start);
    }

    @Test
    void aFirstHeadThatDripsIsCutOff() throws Exception {
        try (Socket socket = connection()) {
            assertThat(drip(socket)).isBetween(LIMIT.minusMillis(500), LIMIT.plusSeconds(8));
        }
    }

    @Test
    void aHandshakeThatDripsIsCutOffToo() throws Exception {
        try (Socket socket = plain()) {
            // a client's greeting of 16 KiB less one, of TLS where that is spoken
            assertThat(drip(socket, secured ? "\u0016\u0003\u0001?\u007f\u0001" : "GET "))
                    .isBetween(LIMIT.minusMillis(500), LIMIT.plusSeconds(8));
        }
    }

    @Test
    void aLaterHeadThatDripsIsCutOffToo() throws Exception {
        try (Socket socket = connection()) {
            send(socket, WHOLE);
            held.answer();
            assertAnswered(socket);

            assertThat(drip(socket)).isBetween(LIMIT.minusMillis(500), LIMIT.plusSeconds(8));
        }
    }

    /** A proxy may keep it for its next request for as long as the keep-alive lasts; the deadline begins with the first byte. */
    @Test
    void aConnectionMayBeQuietLongerThanAHeadMayTake() throws Exception {
        try (Socket first = connection();
                Socket later = connection()) {
            send(later, WHOLE);
            held.answer();
            assertAnswered(later);
            TimeUnit.MILLISECONDS.sleep(LIMIT.toMillis() * 2);

            for (Socket socket : List.of(first, later)) {
                send(socket, WHOLE);
                held.answer();
                assertAnswered(socket);
            }
        }
    }

    @Test
    void aHeadThatDripsIsCutOffHoweverLongItsConnectionWasQuiet() throws Exception {
        try (Socket socket = connection()) {
            TimeUnit.MILLISECONDS.sleep(LIMIT.toMillis() * 2);

            assertThat(drip(socket)).isBetween(LIMIT.minusMillis(500), LIMIT.plusSeconds(8));
        }
    }

    @Test
    void aResponseMayTakeLonger() throws Exception {
        try (Socket socket = connection()) {
            for (int i = 0; i < 2; i++) {
                send(socket, WHOLE + WHOLE);
                TimeUnit.MILLISECONDS.sleep(LIMIT.toMillis() + 1500);
                held.answer();
                assertAnswered(socket);
                held.answer();
                assertAnswered(socket);
            }
        }
    }

    @Test
    void aConnectionThatIsUsedNowAndThenStays() throws Exception {
        try (Socket socket = connection()) {
            for (int i = 0; i < 6; i++) {
                TimeUnit.MILLISECONDS.sleep(LIMIT.toMillis() / 4);
                send(socket, WHOLE);
                held.answer();
                assertAnswered(socket);
            }
        }
    }
}
