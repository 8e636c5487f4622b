package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Gateways as processes of their own, of which one loses the folder of its store. */
@Tag("jdk")
@Timeout(100)
class RemovedStoreTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess gateway(Path log) throws IOException {
        List<String> args = List.of("serve", "--port", "0", "--store", "rocksdb:" + folder.resolve("store"));
        return new GatewayProcess(GatewayProcess.builder(folder, List.of(), args)
                .redirectError(log.toFile())
                .start());
    }

    @Test
    void aGatewayWhoseStoreIsRemovedSaysSoAndLeavesThePathToTheNext() throws Exception {
        Path log = folder.resolve("first.log");
        try (GatewayProcess first = gateway(log)) {
            URI url = first.url();
            HttpPeer.connected(url);
            assertThat(health(url)).startsWith("{\"status\":\"ok\"");

            remove(folder.resolve("store"));

            Wait.until("told degraded", () -> health(url).startsWith("{\"status\":\"degraded\""));
            assertThat(health(url)).contains("cannot write; the log says why");
            assertThat(new HttpPeer(url).post(TestJson.INITIALIZE).statusCode()).isEqualTo(503);
            try (GatewayProcess second = gateway(folder.resolve("second.log"))) {
                URI next = second.url();
                first.process().destroy();
                assertThat(first.process().waitFor(Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
                HttpPeer.connected(next).call(1, "ping");
                assertThat(health(next)).startsWith("{\"status\":\"ok\"");
            }
        }
        assertThat(Files.readAllLines(log).stream().filter(line -> line.contains(" ERROR ")))
                .singleElement()
                .asString()
                .contains(folder.resolve("store") + " was removed or replaced while it was open");
    }

    private static String health(URI url) {
        return new HttpPeer(url).get("/healthz").body();
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
