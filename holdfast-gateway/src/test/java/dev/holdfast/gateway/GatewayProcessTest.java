package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.stdio.ShellServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The gateway as a process of its own, as people run it. */
@Tag("jdk")
@Timeout(240)
class GatewayProcessTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endAll() {
        started.forEach(Wait::untilKilled);
    }

    private Process start(String... args) throws IOException {
        Process process = GatewayProcess.start(folder, List.of(args)).process();
        started.add(process);
        return process;
    }

    private static URI url(Process gateway) throws IOException {
        return new GatewayProcess(gateway).url();
    }

    private Process serving(ServerCommand command) throws IOException {
        List<String> args = new ArrayList<>(List.of("serve", "--port", "0", "--"));
        args.addAll(command.words());
        return start(args.toArray(new String[0]));
    }

    private static int exitCode(Process process) throws InterruptedException {
        return new GatewayProcess(process).exitCode(60);
    }

    @Test
    void theEndpointCanHaveTheRootPathBesideThePages() throws IOException {
        Process gateway = start("serve", "--port", "0", "--store", "memory", "--path", "/");
        String line = Wait.listening(gateway);
        assertThat(line).matches("holdfast \\S+ listens on http://127\\.0\\.0\\.1:\\d+/");
        URI url = URI.create(line.substring(line.indexOf("http")));
        HttpPeer peer = HttpPeer.connected(url);

        assertThat(peer.call(1, "ping")).contains("\"result\"");
        assertThat(peer.get("/healthz").body()).startsWith("{\"status\":\"ok\"");
        assertThat(peer.get("/stats").body()).contains("\"sessions\":1");
        assertThat(peer.get("/metrics").body()).contains("holdfast_sessions");
        assertThat(peer.get("/mcp").statusCode()).isEqualTo(404);
    }

    @Test
    void aWordThatTheLocaleCannotReadIsRefusedAndNotChanged() throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(
                List.of("sh", "-c", "LC_ALL=C exec \"$@\" \"$(printf '/data/M\\303\\274ller')\"", "sh"));
        words.addAll(GatewayProcess.builder(folder, List.of(), List.of("serve", "--port", "0", "--", "cat"))
                .command());
        Process gateway = new ProcessBuilder(words).directory(folder.toFile()).start();
        started.add(gateway);

        assertThat(gateway.errorReader().lines().filter(line -> line.startsWith("holdfast:")))
                .containsExactly(
                        "holdfast: word 2 of the command is not in the encoding of the locale"
                                + " (ANSI_X3.4-1968), or has U+FFFD for a lost character; use a locale with UTF-8, as by LC_ALL=C.UTF-8");
        assertThat(exitCode(gateway)).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void aSignalDrainsAndLeavesNothingBehind(String signal) throws IOException, InterruptedException {
        Process gateway = serving(ShellServer.COMMAND);
        URI url = url(gateway);
        HttpPeer peer = HttpPeer.connected(url);
        HttpPeer idle = HttpPeer.connected(url);
        List<ProcessHandle> servers = List.of(TestGateway.server(peer, 1), TestGateway.server(idle, 1));
        CompletableFuture<HttpResponse<Stream<String>>> call = peer.posted(2, "slow");
        Stream<String> lines = Wait.until(call).body();

        new ProcessBuilder("sh", "-c", "kill -s " + signal + " " + gateway.pid())
                .start()
                .waitFor();

        assertThat(lines).anyMatch(line -> line.contains("\"id\":2,\"result\""));
        assertThat(exitCode(gateway)).isZero();
        Wait.until("the children are gone", () -> servers.stream().noneMatch(ProcessHandle::isAlive));
    }

    @Test
    void theDemoIsServedWithoutACommand() throws IOException, InterruptedException {
        Process gateway = start("serve", "--port", "0");
        HttpPeer peer = HttpPeer.connected(url(gateway));

        assertThat(peer.call(1, "tools/list")).contains("\"name\":\"echo\"");

        gateway.destroy();
        assertThat(exitCode(gateway)).isZero();
    }

    @Test
    void sessionsAreKeptInAFolderThatOneGatewayAtATimeHasOpen() throws IOException, InterruptedException {
        Process gateway = start("serve", "--port", "0");
        HttpPeer.connected(url(gateway));

        assertThat(exitCode(start("serve", "--port", "0"))).isEqualTo(1);
        assertThat(folder.resolve("holdfast-data/FORMAT")).exists();

        gateway.destroyForcibly().waitFor();
        url(start("serve", "--port", "0", "--store-sync"));
    }

    @Test
    void aFolderOfAnotherCommandIsServedOnlyWhereItIsTakenOver() throws IOException, InterruptedException {
        Process demo = start("serve", "--port", "0");
        url(demo);
        demo.destroy();
        assertThat(exitCode(demo)).isZero();

        assertThat(exitCode(serving(ShellServer.COMMAND))).isEqualTo(1);
        Process taken = start(words("serve", "--port", "0", "--take-over-store"));
        url(taken);
        taken.destroyForcibly().waitFor();

        Process again = serving(ShellServer.COMMAND);
        url(again);
        again.destroyForcibly().waitFor();
        assertThat(exitCode(start("serve", "--port", "0"))).isEqualTo(1);
    }

    private static String[] words(String... own) {
        return Stream.concat(Stream.concat(Stream.of(own), Stream.of("--")), ShellServer.COMMAND.words().stream())
                .toArray(String[]::new);
    }

    @Test
    void nothingIsWrittenWhereSessionsAreKeptInMemory() throws IOException {
        url(start("serve", "--port", "0", "--store", "memory"));

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void clientsOfHttpSseAreToldToPostWhereTheBaseUrlSays() throws IOException, InterruptedException {
        Process gateway = start("serve", "--port", "0", "--store", "memory", "--base-url", "https://mcp.example/tools");
        HttpRequest get = HttpRequest.newBuilder(url(gateway).resolve("/sse"))
                .header("Accept", "text/event-stream")
                .build();

        try (Stream<String> lines = HttpClient.newHttpClient()
                .send(get, HttpResponse.BodyHandlers.ofLines())
                .body()) {
            assertThat(lines.filter(line -> line.startsWith("data: ")).findFirst())
                    .hasValueSatisfying(
                            line -> assertThat(line).startsWith("data: https://mcp.example/tools/message?sessionId="));
        }
    }

    @Test
    void aWrongCommandLineExitsWithTwo() throws IOException, InterruptedException {
        assertThat(exitCode(start("serve", "--colour"))).isEqualTo(2);
    }

    @Test
    void aCommandThatIsNotThereExitsWithOne() throws IOException, InterruptedException {
        assertThat(exitCode(start("serve", "--", "no-such-server"))).isEqualTo(1);
    }
}
