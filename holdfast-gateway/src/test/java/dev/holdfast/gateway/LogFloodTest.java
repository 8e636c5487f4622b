package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whatever a stranger sends, and however often, a real gateway logs a bounded number of lines. */
@Timeout(180)
class LogFloodTest {
    private static final int TIMES = 100;
    /** At least so many different lines come of it. */
    private static final int KINDS = 6;
    /** In ten seconds: ten of each of two loggers of the container, and one for each kind of refusal. */
    private static final int MOST_IN_A_WINDOW = 40;

    private static final Pattern CONTROL = Pattern.compile("\\p{Cc}");
    private static final String JSON =
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    private static final String LONG = "x".repeat(20_000);

    /** What is sent; {@code #} is another number each time, {@code |} ends a line, {@code LONG} is too long. */
    private static final List<String> REQUESTS = List.of(
            // what a terminal takes for a command, before the log has enough of such lines
            "GET /mcp HTTP/1.1|Host: a\u009b31m b#||",
            // request lines
            "nonsense #||",
            "GET||",
            "GET /mcp||",
            "GET /mcp HTTP/9.#|Host: a||",
            "GET /mcp HTTP/1.1 more #|Host: a||",
            "G\u0001T# /mcp HTTP/1.1|Host: a||",
            "FOO# /mcp HTTP/1.1|Host: localhost||",
            "TRACE /mcp HTTP/1.1|Host: localhost|X: #||",
            "CONNECT a:# HTTP/1.1|Host: a||",
            "OPTIONS * HTTP/1.1|Host: a#||",
            "PRI * HTTP/2.0||SM||",
            "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003#||",
            "\u0000\u0000\u0000\u0000#||",
            "||||||||#||",
            // targets
            "GET /%zz# HTTP/1.1|Host: a||",
            "GET /%00# HTTP/1.1|Host: a||",
            "GET /%ff%fe# HTTP/1.1|Host: a||",
            "GET /\u00ff\u00fe# HTTP/1.1|Host: a||",
            "GET /../../etc/# HTTP/1.1|Host: a||",
            "GET /mcp/%2e%2e/# HTTP/1.1|Host: a||",
            "GET /mcp;a=#/..;/x HTTP/1.1|Host: a||",
            "GET //mcp%2f# HTTP/1.1|Host: a||",
            "GET http://a b#/mcp HTTP/1.1|Host: a||",
            "GET http://other#/mcp HTTP/1.1|Host: a||",
            "GET /mcp?%zz=%ff# HTTP/1.1|Host: localhost|Accept: text/event-stream||",
            "POST /message?sessionId=%ff%zz# HTTP/1.1|Host: localhost|Content-Type: application/json|Content-Length: 2||{}",
            "GET /LONG# HTTP/1.1|Host: a||",
            // heads
            "GET /mcp HTTP/1.1||",
            "GET /mcp HTTP/1.1|Host: a b#||",
            "GET /mcp HTTP/1.1|Host: a:b#||",
            "GET /mcp HTTP/1.1|Host: [::#||",
            "GET /mcp HTTP/1.1|Host: a#|Host: b||",
            "GET /mcp HTTP/1.1|Host : a#||",
            "GET /mcp HTTP/1.1|Host: a#|no colon||",
            "GET /mcp HTTP/1.1|Host: a#| folded||",
            "GET /mcp HTTP/1.1|Host: localhost|: nameless #||",
            "GET /mcp HTTP/1.1|Host: localhost|X\u0000Y#: a||",
            "GET /mcp HTTP/1.1|Host: localhost|X: \u0000\u0001\u00ff#||",
            "GET /mcp HTTP/1.1|Host: localhost|X: LONG#||",
            "GET /mcp HTTP/1.1|Host: localhost|Cookie: =;\"#;\u00ff=,||",
            "GET /mcp HTTP/1.1|Host: localhost|Connection: Upgrade, HTTP2-Settings|Upgrade: h2c|HTTP2-Settings: #||",
            "GET /mcp HTTP/1.1|Host: localhost|Connection: Upgrade|Upgrade: websocket|Sec-WebSocket-Key: #||",
            "GET /mcp HTTP/1.1|Host: localhost|Accept: text/event-stream|Last-Event-ID: \u00ff#|Mcp-Session-Id: \u00ff||",
            "GET /mcp HTTP/1.1|Host: localhost|Accept: text/event-stream|MCP-Protocol-Version: 9#||",
            "GET /healthz HTTP/1.1|Host: a b#||",
            "GET /stats HTTP/1.1|Host: a#.example||",
            "GET /mcp HTTP/1.1|Host: localhost|Origin: http://evil#||",
            "POST /mcp HTTP/1.1|Host: localhost|Expect: nothing#|Content-Length: 2||{}",
            "POST /mcp HTTP/1.1|Host: localhost|Expect: 100-continue|" + JSON + "Content-Length: #9||",
            // bodies
            "POST /mcp HTTP/1.1|Host: localhost|Content-Length: x#||",
            "POST /mcp HTTP/1.1|Host: localhost|Content-Length: -#||",
            "POST /mcp HTTP/1.1|Host: localhost|Content-Length: 99999999999999999999#||",
            "POST /mcp HTTP/1.1|Host: localhost|Content-Length: 1|Content-Length: #2||{}",
            "POST /mcp HTTP/1.1|Host: localhost|Content-Length: #|Transfer-Encoding: chunked||0||",
            "POST /mcp HTTP/1.1|Host: localhost|Transfer-Encoding: gzip#||",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Transfer-Encoding: chunked||zz#|",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Transfer-Encoding: chunked||ffffffffffffffff#|",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Transfer-Encoding: chunked||5|{}#",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Transfer-Encoding: chunked||2|{}|0|Bad Trailer#|x||",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Content-Length: 99||{#",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Content-Length: 2||\u00ff\u00fe",
            "POST /mcp HTTP/1.1|Host: localhost|" + JSON + "Content-Length: 2||{}",
            "POST /mcp HTTP/1.1|Host: localhost|Content-Type: multipart/form-data; boundary=#|Content-Length: 2||{}",
            "POST /stats HTTP/1.1|Host: localhost|Content-Type: application/x-www-form-urlencoded|Content-Length: 3||%z#",
            // what ends early
            "",
            "G",
            "GET /mcp HTTP/1.1|Host: loc",
            "GET /sse HTTP/1.1|Host: localhost|Accept: text/event-stream||");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Process gateway;

    @SuppressWarnings("NullAway.Init")
    private Path log;

    private int port;

    @BeforeEach
    void start() throws IOException {
        log = folder.resolve("log");
        gateway = new ProcessBuilder(ClassData.gateway(List.of(), List.of("serve", "--port", "0", "--store", "memory")))
                .redirectError(log.toFile())
                .start();
        String line = Wait.listening(gateway);
        port = Integer.parseInt(line.replaceAll(".*:(\\d+)/.*", "$1"));
    }

    @AfterEach
    void stop() throws InterruptedException {
        gateway.destroyForcibly();
        assertThat(gateway.waitFor(Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    /** Sends bytes, reads what comes at once if it is to, and goes away: in order, or with a reset. */
    private void send(String request, int number) throws IOException {
        byte[] bytes = request.replace("#", Integer.toString(number))
                .replace("|", "\r\n")
                .replace("LONG", LONG)
                .getBytes(ISO_8859_1);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            try {
                socket.getOutputStream().write(bytes);
                if (number % 2 == 0) {
                    socket.setSoLinger(true, 0);
                } else {
                    socket.shutdownOutput();
                    InputStream answer = socket.getInputStream();
                    answer.read(new byte[16]);
                }
            } catch (SocketException refused) {
                // the gateway was faster
            }
        }
    }

    @Test
    void aStrangerCannotFillTheLog() throws IOException {
        long start = System.nanoTime();
        for (String request : REQUESTS) {
            for (int i = 0; i < TIMES; i++) {
                send(request, i);
            }
        }
        send("GET /healthz HTTP/1.1|Host: a|Connection: close||", 1);
        long windows = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) / 10 + 2;

        List<String> lines = Files.readAllLines(log, UTF_8);
        assertThat(lines.size()).isBetween(KINDS, (int) windows * MOST_IN_A_WINDOW);
        assertThat(lines).anyMatch(line -> line.contains("HostPort")).noneMatch(CONTROL.asPredicate());
    }
}
