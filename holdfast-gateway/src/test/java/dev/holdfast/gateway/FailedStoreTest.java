package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.RedisServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Gateways whose store fails under sessions that are open: every call is refused soon, the first one of each session too. */
@Timeout(100)
class FailedStoreTest {
    private static final int SESSIONS = 3;
    /** Within three seconds, and what a busy machine takes. */
    private static final Duration SOON = Duration.ofSeconds(8);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess gateway(List<String> command) throws IOException {
        return new GatewayProcess(GatewayProcess.started(new ProcessBuilder(command)));
    }

    private static List<String> serve(String store) {
        return ClassData.gateway(List.of(), List.of("serve", "--port", "0", "--store", store));
    }

    private static List<HttpPeer> sessions(URI url) {
        return Stream.generate(() -> HttpPeer.connected(url)).limit(SESSIONS).toList();
    }

    private static String tool(String name, String arguments) {
        return "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'" + name + "','arguments':{" + arguments
                + "}}}";
    }

    private static void refusedSoon(List<HttpPeer> peers, String call) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (HttpPeer peer : peers) {
            long start = System.nanoTime();
            all.add(peer.posted(call).thenAccept(answer -> {
                String body = String.join("\n", answer.body().toList());
                if (answer.statusCode() == 200) {
                    // it had begun when the store failed: nobody may send it again unasked
                    assertThat(body).contains("whether it had any effect is not known");
                } else {
                    assertThat(answer.statusCode()).as(body).isEqualTo(503);
                    assertThat(answer.headers().firstValue("Retry-After")).isPresent();
                }
                assertThat(body).contains("\"id\":7", "\"error\"");
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON);
            }));
        }
        all.forEach(Wait::until);
    }

    @Test
    void theFolderIsRemoved() throws Exception {
        Path store = folder.resolve("store");
        try (GatewayProcess gateway = gateway(serve("rocksdb:" + store))) {
            URI url = gateway.url();
            List<HttpPeer> peers = sessions(url);
            remove(store);
            Wait.until(
                    "told degraded", () -> peers.get(0).get("/healthz").body().contains("degraded"));
            refusedSoon(peers, tool("echo", "'text':'x'"));
            refusedSoon(peers, tool("echo", "'text':'x'"));
        }
    }

    /** Which call is the first that finds no room nobody knows: the log of the store has some left. */
    @Test
    void theDiskIsFull() throws Exception {
        Path mounted = Files.createDirectory(folder.resolve("disk"));
        SmallDisk disk = new SmallDisk(mounted);
        try (GatewayProcess gateway = gateway(disk.under(serve("rocksdb:" + mounted.resolve("store"))))) {
            List<HttpPeer> peers = sessions(gateway.url());
            String call = tool("echo", "'text':'" + "x".repeat(50_000) + "'");
            disk.fill(gateway.process());
            Wait.until("no call finds room", () -> {
                List<CompletableFuture<HttpResponse<Stream<String>>>> all =
                        peers.stream().map(peer -> peer.posted(call)).toList();
                long start = System.nanoTime();
                List<Integer> statuses = all.stream()
                        .map(Wait::until)
                        .map(HttpResponse::statusCode)
                        .toList();
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON);
                assertThat(statuses).allMatch(List.of(200, 503)::contains);
                return !statuses.contains(200);
            });
            refusedSoon(peers, tool("echo", "'text':'x'"));
            disk.empty(gateway.process());
            Wait.until(
                    "it works again",
                    () -> peers.get(0).post(tool("echo", "'text':'x'")).statusCode() == 200);
        }
    }

    @Test
    void redisStandsStill() throws Exception {
        try (RedisServer redis = RedisServer.start();
                GatewayProcess gateway = gateway(serve(redis.url()))) {
            List<HttpPeer> peers = sessions(gateway.url());
            redis.freeze();
            refusedSoon(peers, tool("echo", "'text':'x'"));
            redis.thaw();
        }
    }

    @Test
    void redisIsGone() throws Exception {
        try (RedisServer redis = RedisServer.start();
                GatewayProcess gateway = gateway(serve(redis.url()))) {
            List<HttpPeer> peers = sessions(gateway.url());
            redis.kill();
            refusedSoon(peers, tool("echo", "'text':'x'"));
        }
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
