package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The gateway as a process of its own, on a disk that fills up under it, and has room again later. */
@Tag("jdk")
@Timeout(100)
class GatewayFullDiskTest {
    private static final Duration PROMPT = Duration.ofSeconds(15);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path temporary;

    @SuppressWarnings("NullAway.Init")
    private SmallDisk disk;

    @SuppressWarnings("NullAway.Init")
    private Process gateway;

    @SuppressWarnings("NullAway.Init")
    private HttpPeer peer;

    private final AtomicInteger ids = new AtomicInteger(100);

    @BeforeEach
    void serve() throws IOException, InterruptedException {
        Path folder = Files.createDirectory(temporary.resolve("disk"));
        disk = new SmallDisk(folder);
        gateway = GatewayProcess.started(new ProcessBuilder(disk.under(ClassData.gateway(
                List.of(), List.of("serve", "--port", "0", "--store", "rocksdb:" + folder.resolve("store"))))));
        String line = Wait.listening(gateway);
        peer = HttpPeer.connected(URI.create(line.substring(line.indexOf("http"))));
    }

    @AfterEach
    void end() {
        Wait.untilKilled(gateway);
    }

    @Test
    void whatIsKeptIsServedWhileTheDiskIsFullAndCallsGoOnAfterwards() throws Exception {
        List<String> broken = new ArrayList<>();
        for (int id = 1; id <= 3; id++) {
            broken.add(brokenOff(id));
        }
        resumed(broken.get(0), 1);
        assertThat(echo().statusCode()).isEqualTo(200);
        assertThat(health()).startsWith("{\"status\":\"ok\"");
        within(PROMPT, "all calls have ended", () -> peer.get("/stats").body().contains("\"runningCalls\":0"));

        List<CompletableFuture<HttpResponse<String>>> undecided = fillUntilCallsFail();

        HttpResponse<String> refused = promptCall();
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).contains("1");
        assertThat(refused.body()).contains("\"error\"", "the session store is not available");
        HttpResponse<String> stranger = assertTimeout(PROMPT, () -> new HttpPeer(peer.url()).post(TestJson.INITIALIZE));
        assertThat(stranger.statusCode()).as("a new session").isEqualTo(503);
        within(PROMPT, "told degraded", () -> health().startsWith("{\"status\":\"degraded\""));
        resumed(broken.get(1), 2);
        assertThat(gateway.isAlive()).isTrue();

        disk.empty(gateway);

        within(Duration.ofSeconds(30), "a call again", () -> promptCall().statusCode() == 200);
        for (CompletableFuture<HttpResponse<String>> call : undecided) {
            assertThat(Wait.until(call).body()).containsAnyOf("\"result\"", "could not be stored", "the session store");
        }
        within(PROMPT, "told ok", () -> health().startsWith("{\"status\":\"ok\""));
        resumed(broken.get(2), 3);
    }

    /** Returns the calls that had no answer at once: the start of one may be kept, and its end has to wait for room. */
    private List<CompletableFuture<HttpResponse<String>>> fillUntilCallsFail() {
        List<CompletableFuture<HttpResponse<String>>> undecided = new ArrayList<>();
        within(PROMPT, "calls fail", () -> {
            CompletableFuture<HttpResponse<String>> call = CompletableFuture.supplyAsync(this::echo);
            try {
                disk.fill(gateway);
                return call.get(2, TimeUnit.SECONDS).statusCode() != 200;
            } catch (TimeoutException withoutAnswer) {
                undecided.add(call);
                return false;
            } catch (IOException | InterruptedException | ExecutionException e) {
                throw new AssertionError(e);
            }
        });
        return undecided;
    }

    /** Makes a call and lets go of it after its first step; the id of that event. */
    private String brokenOff(int id) {
        HttpResponse<Stream<String>> response = Wait.until(peer.posted(TestJson.of("{'jsonrpc':'2.0','id':" + id
                + ",'method':'tools/call','params':{'name':'slow','arguments':{'ms':600,'steps':3},"
                + "'_meta':{'progressToken':" + id + "}}}")));
        assertThat(response.statusCode()).isEqualTo(200);
        try (Stream<String> lines = response.body()) {
            return idOf(lines.iterator(), "\"progress\":1");
        }
    }

    private static String idOf(Iterator<String> lines, String part) {
        String id = "";
        while (lines.hasNext()) {
            String line = lines.next();
            if (line.startsWith("id:")) {
                id = line.substring("id:".length()).strip();
            } else if (line.contains(part)) {
                return id;
            }
        }
        throw new AssertionError("not there: " + part);
    }

    /** Reads the rest of a stream behind that event, to its end. */
    private void resumed(String lastEventId, int id) {
        assertTimeout(PROMPT, () -> {
            HttpResponse<Stream<String>> response = Wait.until(peer.resumed(lastEventId));
            assertThat(response.statusCode()).isEqualTo(200);
            try (Stream<String> lines = response.body()) {
                List<String> data =
                        lines.filter(line -> line.startsWith("data: {")).toList();
                assertThat(data).hasSize(3);
                assertThat(data.get(0)).contains("\"progress\":2");
                assertThat(data.get(1)).contains("\"progress\":3");
                assertThat(data.get(2)).contains("\"id\":" + id + ",", "\"result\"");
            }
        });
    }

    private HttpResponse<String> echo() {
        return peer.post("{'jsonrpc':'2.0','id':" + ids.incrementAndGet()
                + ",'method':'tools/call','params':{'name':'echo','arguments':{'text':'" + "x".repeat(5_000) + "'}}}");
    }

    private HttpResponse<String> promptCall() {
        return assertTimeout(PROMPT, this::echo);
    }

    private String health() {
        HttpResponse<String> response = peer.get("/healthz");
        assertThat(response.statusCode()).isEqualTo(200);
        return response.body();
    }

    private static void within(Duration time, String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(Duration.ofNanos(System.nanoTime() - start)).as(what).isLessThan(time);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
        }
    }
}
