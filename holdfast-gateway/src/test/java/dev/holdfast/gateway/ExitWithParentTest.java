package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.ShellServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code --exit-with-parent}, where the process that has started a gateway or a bridge is killed. */
@Tag("jdk")
@Timeout(120)
class ExitWithParentTest {
    /** A parent whose own parent does not collect it when it has ended, and that says its number and that of what it starts. */
    private static final String PARENT =
            "exec 3<&0; sh -c 'echo $$ >parent; \"$@\" <&3 & echo $! >child; wait' \"$0\" \"$@\" & exec sleep 1000 >&-";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private Process family(List<String> words) throws IOException {
        ProcessBuilder gateway = GatewayProcess.builder(folder, List.of(), words);
        List<String> command = new ArrayList<>(List.of("sh", "-c", PARENT, "sh"));
        command.addAll(gateway.command());
        return gateway.command(command)
                .redirectError(folder.resolve("log").toFile())
                .start();
    }

    private ProcessHandle handle(String file) {
        try {
            return ProcessHandle.of(Long.parseLong(
                            Files.readString(folder.resolve(file)).strip()))
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void end(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    @Test
    void supergateway155_theGatewayAndItsServersEndWithTheProcessThatStartedIt() throws Exception {
        Process family = family(TestGateway.words(
                List.of("serve", "--port", "0", "--store", "memory", "--exit-with-parent", "--"),
                ShellServer.COMMAND.words()));
        try {
            String line = Wait.listening(family);
            ProcessHandle gateway = handle("child");
            HttpPeer peer = HttpPeer.connected(URI.create(line.substring(line.indexOf("http"))));
            ProcessHandle server = TestGateway.server(peer, 1);
            assertThat(gateway.isAlive()).isTrue();

            assertThat(handle("parent").destroyForcibly()).isTrue();

            Wait.until("the gateway ends", () -> !gateway.isAlive());
            Wait.until("its server ends", () -> !server.isAlive());
            assertThat(folder.resolve("log")).content().contains("is gone", "shutting down");
        } finally {
            end(family);
        }
    }

    @Test
    void aBridgeEndsWithTheProcessThatStartedIt() throws Exception {
        try (TestGateway server = new TestGateway()) {
            Process family =
                    family(List.of("connect", "--exit-with-parent", server.url().toString()));
            try (BridgeProcess bridge = new BridgeProcess(family, family.inputReader())) {
                bridge.begin();
                ProcessHandle process = handle("child");
                assertThat(server.gateway.engine().stats().sessions()).isOne();

                // its standard input stays open in the parent of that parent
                assertThat(handle("parent").destroyForcibly()).isTrue();

                Wait.until("the bridge ends", () -> !process.isAlive());
                assertThat(server.gateway.engine().stats().sessions()).isZero();
            } finally {
                end(family);
            }
        }
    }

    @Test
    void oneThatWasGoneBeforeAnybodyLookedIsMissedToo() throws Exception {
        Process gone = new ProcessBuilder("true").start();
        gone.waitFor();
        List<String> words = List.of("serve", "--port", "0", "--store", "memory", "--exit-with-parent");
        try (GatewayProcess gateway = GatewayProcess.start(folder, List.of("-Dholdfast.parent=" + gone.pid()), words)) {
            assertThat(gateway.exitCode(60)).isZero();
        }
    }

    @Test
    void withoutTheOptionTheGatewayStays() throws Exception {
        Process family = family(List.of("serve", "--port", "0", "--store", "memory"));
        try {
            String line = Wait.listening(family);
            ProcessHandle gateway = handle("child");
            ProcessHandle parent = handle("parent");
            assertThat(parent.destroyForcibly()).isTrue();
            Wait.until("another is its parent", () -> !gateway.parent().equals(Optional.of(parent)));
            HttpPeer peer = HttpPeer.connected(URI.create(line.substring(line.indexOf("http"))));
            assertThat(peer.delete().statusCode()).isEqualTo(200);
            assertThat(gateway.isAlive()).isTrue();
            gateway.destroyForcibly();
        } finally {
            end(family);
        }
    }
}
