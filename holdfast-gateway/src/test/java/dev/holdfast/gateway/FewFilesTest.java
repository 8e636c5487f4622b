package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.ShellServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A gateway that may open few files, and strangers who open more connections than that. */
@Tag("jdk")
@Timeout(180)
class FewFilesTest {
    private static final int FILES = 300;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Socket> strangers = new ArrayList<>();

    @SuppressWarnings("NullAway.Init")
    private Process gateway;

    @SuppressWarnings("NullAway.Init")
    private URI url;

    @BeforeEach
    void start() throws IOException {
        List<String> serve = TestGateway.words(List.of("serve", "--port", "0", "--"), ShellServer.COMMAND.words());
        List<String> words = new ArrayList<>(List.of("sh", "-c", "ulimit -n " + FILES + " && exec \"$@\"", "sh"));
        words.addAll(GatewayProcess.builder(folder, List.of(), serve).command());
        gateway = new ProcessBuilder(words)
                .directory(folder.toFile())
                .redirectError(folder.resolve("log").toFile())
                .start();
        url = new GatewayProcess(gateway).url();
    }

    @AfterEach
    void end() throws IOException {
        leave();
        Wait.untilKilled(gateway);
    }

    private void leave() throws IOException {
        for (Socket stranger : strangers) {
            stranger.close();
        }
        strangers.clear();
    }

    private String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Socket connection() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), url.getPort());
        socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
        return socket;
    }

    @Test
    void connectionsLeaveFilesForTheStoreAndForChildrenAndThoseWhoWaitAreServedLater() throws IOException {
        HttpPeer first = HttpPeer.connected(url);

        for (int i = 0; i < FILES + 50; i++) {
            strangers.add(connection());
        }
        Wait.until("the bound is reached", () -> log().contains("connections are open"));

        assertThat(first.call(1, "who")).as("over a connection of before").contains("\"server\"");
        assertThat(HttpPeer.connected(url).call(1, "who"))
                .as("a session of its own, over that connection")
                .contains("\"server\"");
        assertThat(log()).doesNotContain("Too many open files").containsOnlyOnce("connections are open");
        try (Socket late = connection()) {
            late.getOutputStream().write("GET /healthz HTTP/1.0\r\n\r\n".getBytes(ISO_8859_1));
            leave();
            assertThat(new String(late.getInputStream().readAllBytes(), ISO_8859_1))
                    .startsWith("HTTP/1.1 200 ")
                    .contains("\"status\":\"ok\"");
        }
    }
}
