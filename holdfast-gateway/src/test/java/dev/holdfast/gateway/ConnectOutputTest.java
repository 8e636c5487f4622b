package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.redis.FreePort;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code holdfast connect} writes over a whole life with all that it warns of. */
@Tag("jdk")
@Timeout(120)
class ConnectOutputTest {
    private static final String CALL = "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{}}";
    private static final String NEWS = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}";

    /** The first of what it says waits for the process. */
    private static final Duration START = Duration.ofSeconds(60);

    private final int port = FreePort.next();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Process bridge;

    @BeforeEach
    void connect() throws IOException {
        Path headers = Files.writeString(folder.resolve("headers"), "Authorization: Bearer old\n");
        String url = "http://127.0.0.1:" + port + "/mcp";
        List<String> words = List.of(
                "connect", "--log-level", "debug", "--patience", "1s", "--header-file", headers.toString(), url);
        bridge = GatewayProcess.builder(folder, List.of(), words)
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    @AfterEach
    void close() {
        Wait.untilKilled(bridge);
    }

    private String written(String where) {
        try {
            return Files.readString(folder.resolve(where));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void say(String line) throws IOException {
        bridge.getOutputStream().write((line + "\n").getBytes(UTF_8));
        bridge.getOutputStream().flush();
    }

    private void hears(String text) {
        Wait.until("out: " + text, START, () -> written("out").contains(text));
    }

    private void logs(String text) {
        Wait.until("err: " + text, () -> written("err").contains(text));
    }

    @Test
    void eachLineOfTheOutputIsAMessageAndTheLogIsElsewhere() throws Exception {
        say(BridgeProcess.INITIALIZE);
        hears("cannot be reached");
        try (ScriptedUpstream server = new ScriptedUpstream(port)) {
            server.on("initialize", asked -> asked.status(401));
            say(BridgeProcess.INITIALIZE);
            hears("wants other credentials");

            server.on("initialize", server::welcome).on("GET", ConnectOutputTest::newsAndTheEnd);
            say(BridgeProcess.INITIALIZE);
            hears("\"result\"");
            say(BridgeProcess.INITIALIZED);
            hears(NEWS);
            logs("notifications of 127.0.0.1 may be missing");

            server.on("GET", ScriptedUpstream.Asked::stream).on("tools/call", asked -> {
                if (asked.header("Mcp-Session-Id").equals("session-1")) {
                    asked.status(404);
                } else {
                    asked.result("done");
                }
            });
            say(CALL.formatted(1));
            hears("\"id\":1,");
            logs("127.0.0.1 had lost the session; another one has taken its place");

            server.on("tools/call", asked -> asked.status(500));
            say(CALL.formatted(2));
            hears("\"id\":2,");
            say("no JSON");
            hears("-32700");
        }
        say(CALL.formatted(3));
        hears("\"id\":3,");
        try (ScriptedUpstream again = new ScriptedUpstream(port)) {
            again.on("GET", ConnectOutputTest::noJson);
            say(CALL.formatted(4));
            hears("\"id\":4,");
            logs("the server sent what is no JSON-RPC message");
            bridge.getOutputStream().close();
            assertThat(bridge.waitFor(20, TimeUnit.SECONDS)).isTrue();
        }

        assertThat(written("out")).endsWith("\n");
        assertThat(Stream.of(written("out").split("\n")).map(ConnectOutputTest::message))
                .containsSubsequence("ERROR 0", "ERROR 0", "RESPONSE 0", "NOTIFICATION notifications/message")
                .endsWith("RESPONSE 1", "ERROR 2", "ERROR", "ERROR 3", "RESPONSE 4");
        assertThat(written("err"))
                .contains(" INFO ", "the connection to 127.0.0.1 broke and is brought back")
                .doesNotContain("jsonrpc");
    }

    /** What kind of message a line is; fails where it is none. */
    private static String message(String line) {
        EnvelopeReader.Parsed parsed = new EnvelopeReader().read(line.getBytes(UTF_8));
        assertThat(parsed).as(line).isInstanceOf(EnvelopeReader.Single.class);
        return ((EnvelopeReader.Single) parsed).message().toString();
    }

    private static void newsAndTheEnd(ScriptedUpstream.Asked asked) throws IOException {
        try (OutputStream stream = asked.stream()) {
            stream.write(("data: " + NEWS + "\n\n").getBytes(UTF_8));
        }
    }

    private static void noJson(ScriptedUpstream.Asked asked) throws IOException {
        OutputStream stream = asked.stream();
        stream.write("data: no JSON\n\n".getBytes(UTF_8));
        stream.flush();
    }
}
