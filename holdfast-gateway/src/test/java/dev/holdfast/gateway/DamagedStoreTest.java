package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.FreePort;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The gateway as a process of its own, over files that somebody has damaged. */
@Timeout(300)
class DamagedStoreTest {
    private static final int SESSIONS = 12;
    private static final int CALLS = 8;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Process> started = new ArrayList<>();
    private final int port = FreePort.next();

    @AfterEach
    void end() {
        started.forEach(Wait::untilKilled);
    }

    /** The same port each time, so that clients find their server again. */
    private URI serve() throws IOException {
        Process gateway = GatewayProcess.started(new ProcessBuilder(ClassData.gateway(
                List.of(),
                List.of("serve", "--port", String.valueOf(port), "--store", "rocksdb:" + folder.resolve("store")))));
        started.add(gateway);
        String line = Wait.listening(gateway);
        return URI.create(line.substring(line.indexOf("http")));
    }

    private Process running() {
        return started.get(started.size() - 1);
    }

    private void endInOrder() throws InterruptedException {
        running().destroy();
        assertThat(running().waitFor(Wait.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
    }

    private void kill() throws InterruptedException {
        running().destroyForcibly().waitFor();
    }

    private List<HttpPeer> peers(URI url) {
        List<HttpPeer> peers = IntStream.range(0, SESSIONS)
                .mapToObj(i -> HttpPeer.connected(url))
                .toList();
        for (HttpPeer peer : peers) {
            for (int id = 1; id <= CALLS; id++) {
                assertThat(echo(peer, id).statusCode()).isEqualTo(200);
            }
        }
        return peers;
    }

    private static HttpResponse<String> echo(HttpPeer peer, int id) {
        String text = peer.session().repeat(100) + id;
        return peer.post("{'jsonrpc':'2.0','id':" + id
                + ",'method':'tools/call','params':{'name':'echo','arguments':{'text':'" + text + "'}}}");
    }

    private Path largest(String ending) throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("store/db"))) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .max(Comparator.comparingLong(file -> file.toFile().length()))
                    .orElseThrow();
        }
    }

    @Test
    void oneDamagedBlockEndsItsSessionAndNoOther() throws Exception {
        List<HttpPeer> peers = peers(serve());
        endInOrder();
        // what stands in the log is written into a table
        serve();
        kill();
        Path table = largest(".sst");
        byte[] bytes = Files.readAllBytes(table);
        bytes[bytes.length / 2] ^= 0x55;
        Files.write(table, bytes);
        HttpPeer newcomer = HttpPeer.connected(serve());

        List<Integer> first =
                peers.stream().map(peer -> echo(peer, 100).statusCode()).toList();
        assertThat(first).containsOnly(200, 404);
        assertThat(first.stream().filter(status -> status == 404)).hasSizeBetween(1, 2);
        for (int i = 0; i < peers.size(); i++) {
            assertThat(echo(peers.get(i), 101).statusCode()).isEqualTo(first.get(i));
            assertThat(peers.get(i).delete().statusCode()).isEqualTo(first.get(i));
        }
        assertThat(newcomer.get("/stats").body()).contains("\"RESTORE_FAILED\":");
        assertThat(echo(newcomer, 1).statusCode()).isEqualTo(200);
    }

    @Test
    void aLogThatIsGoneIsToldUntilARestartInOrder() throws Exception {
        URI url = serve();
        HttpPeer peer = HttpPeer.connected(url);
        endInOrder();
        serve();
        assertThat(echo(peer, 1).statusCode()).isEqualTo(200);
        assertThat(health(peer)).startsWith("{\"status\":\"ok\"");
        kill();
        Files.delete(largest(".log"));

        serve();
        assertThat(health(peer)).startsWith("{\"status\":\"degraded\"").contains("was damaged");
        assertThat(echo(peer, 2).statusCode()).isEqualTo(200);
        kill();
        serve();
        assertThat(health(peer)).startsWith("{\"status\":\"degraded\"");
        endInOrder();
        serve();
        assertThat(health(peer)).startsWith("{\"status\":\"ok\"");
    }

    private static String health(HttpPeer peer) {
        HttpResponse<String> response = peer.get("/healthz");
        assertThat(response.statusCode()).isEqualTo(200);
        return response.body();
    }
}
