package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tools of many sessions that return much at the same time, and a gateway with a small heap. */
@Tag("jdk")
@Timeout(300)
class LargeAnswersTest {
    private static final int CHILDREN = 16;
    private static final int BYTES = 15_000_000;
    private static final Pattern SESSIONS = Pattern.compile("\"sessions\":(\\d+)");
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    /** A server whose tool returns so much. */
    private static String server(int bytes) {
        return "read line; echo '" + TestJson.INITIALIZED_RESULT + "'; while read -r line; do "
                + "case $line in *tools/call*) printf '%s' '"
                + TestJson.of("{'jsonrpc':'2.0','id':2,'result':{'data':'")
                + "'; "
                + "head -c " + bytes + " /dev/zero | tr '\\0' x; echo '" + TestJson.of("'}}") + "' ;; esac; done";
    }

    private GatewayProcess gateway(int megabytes, int children, int bytes) throws IOException {
        return gateway("memory", megabytes, children, bytes);
    }

    private GatewayProcess gateway(String store, int megabytes, int children, int bytes) throws IOException {
        List<String> args = new ArrayList<>(
                List.of("serve", "--store", store, "--port", "0", "--max-children", String.valueOf(children), "--"));
        args.addAll(StdioBed.script(server(bytes)).words());
        List<String> small = List.of("-Xmx" + megabytes + "m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError");
        return GatewayProcess.start(folder, small, args);
    }

    private static List<HttpPeer> peers(URI url, int count) {
        return IntStream.range(0, count).mapToObj(i -> HttpPeer.connected(url)).toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"memory", "rocksdb"})
    void theLargeAnswersOfAllChildrenAtOnceDoNotEndTheGateway(String store) throws IOException {
        String where = store.equals("memory") ? store : store + ":" + folder.resolve("sessions");
        try (GatewayProcess gateway = gateway(where, 256, CHILDREN, BYTES)) {
            URI url = gateway.url();
            List<CompletableFuture<Long>> calls = peers(url, CHILDREN).stream()
                    .map(peer ->
                            CompletableFuture.supplyAsync(() -> read(call(peer)), task -> new Thread(task).start()))
                    .toList();
            // a session whose client is slow may end for the history that it keeps, and takes its connection with it
            List<Long> read = calls.stream()
                    .map(call -> call.orTimeout(120, TimeUnit.SECONDS).join())
                    .toList();
            assertThat(read).anyMatch(bytes -> bytes > BYTES);
            HttpPeer.connectedAtLast(url);
            assertThat(gateway.process().isAlive()).isTrue();
        }
    }

    @Test
    void clientsThatReadNoneOfTheirLargeAnswersDoNotEndTheGateway() throws IOException {
        try (GatewayProcess gateway = gateway(256, CHILDREN, BYTES)) {
            URI url = gateway.url();
            List<InputStream> answers =
                    peers(url, CHILDREN).stream().map(LargeAnswersTest::call).toList();
            // 240 MB go through shells and pipes first
            Wait.until("a quarter of the heap has room for four", Duration.ofSeconds(90), () -> sessions(url) <= 4);
            for (InputStream answer : answers) {
                answer.close();
            }
            HttpPeer.connectedAtLast(url);
            assertThat(gateway.process().isAlive()).isTrue();
        }
    }

    /** What they keep is bounded together: histories, ended sessions' connections, lines on their way. */
    @ParameterizedTest
    @CsvSource({"64, 2500000", "64, 5000000", "128, 10000000"})
    void clientsThatStopReadingTheirAnswersDoNotEndAGatewayWithAVerySmallHeap(int megabytes, int bytes)
            throws IOException {
        try (GatewayProcess gateway = gateway(megabytes, 24, bytes)) {
            URI url = gateway.url();
            HttpPeer metrics = new HttpPeer(url);
            List<InputStream> answers =
                    peers(url, 20).stream().map(LargeAnswersTest::call).toList();
            Wait.until("every call has its answer, or an end", Duration.ofSeconds(60), () -> {
                assertThat(gateway.process().isAlive()).isTrue();
                return meter(metrics, "holdfast_calls_seconds_count\\{method=\"tools/call\"[^}]*}") == 20;
            });
            int refused = 20 - (megabytes << 18) / bytes;
            Wait.until(
                    "what a quarter of the heap has no room for is counted",
                    () -> meter(metrics, "holdfast_messages_dropped_total")
                                    + meter(metrics, "holdfast_sessions_ended_total\\{[^}]*overflow[^}]*}")
                            >= refused);

            long since = System.nanoTime();
            HttpPeer.connectedAtLast(url);

            assertThat(Duration.ofNanos(System.nanoTime() - since)).isLessThan(Duration.ofSeconds(5));
            assertThat(gateway.process().isAlive()).isTrue();
            for (InputStream answer : answers) {
                answer.close();
            }
        }
    }

    private static double meter(HttpPeer peer, String name) {
        Matcher value = Pattern.compile("^" + name + " (\\S+)$", Pattern.MULTILINE)
                .matcher(peer.get("/metrics").body());
        return value.results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .sum();
    }

    /** A message may have as many bytes as a session may keep. */
    @Test
    void anAnswerJustBelowTheLimitOfAMessageDoesNotEndItsSession() {
        String start = TestJson.of("{'jsonrpc':'2.0','id':2,'result':{'data':'");
        int bytes = (16 << 20) - 100 - start.length() - "'}}".length();
        String script = "read line; echo '" + TestJson.INITIALIZED_RESULT + "'; while read -r line; do case $line in "
                + "*tools/call*) printf '%s' '" + start + "'; head -c " + bytes + " /dev/zero | tr '\\0' x; echo '"
                + TestJson.of("'}}") + "' ;; *ping*) echo '" + TestJson.of("{'jsonrpc':'2.0','id':3,'result':{}}")
                + "' ;; esac; done";
        try (TestGateway gateway = TestGateway.of(StdioBed.script(script))) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            String answer = peer.call(2, "tools/call");
            assertThat(answer).hasSizeLessThan(1000).contains("\"error\"", "16777116 bytes and finds no room");
            assertThat(peer.call(3, "ping")).contains("\"result\"");
        }
    }

    private static int sessions(URI url) {
        String health = new HttpPeer(url).get("/healthz").body();
        Matcher sessions = SESSIONS.matcher(health);
        assertThat(sessions.find()).as(health).isTrue();
        return Integer.parseInt(sessions.group(1));
    }

    private static InputStream call(HttpPeer peer) {
        HttpRequest request = HttpRequest.newBuilder(peer.url())
                .header("Mcp-Session-Id", peer.session())
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(BodyPublishers.ofString(TestJson.of("{'jsonrpc':'2.0','id':2,'method':'tools/call'}")))
                .build();
        try {
            return CLIENT.send(request, BodyHandlers.ofInputStream()).body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    /** How many bytes came until the answer was there, or its connection broke. */
    private static long read(InputStream answer) {
        long read = 0;
        byte[] buffer = new byte[64 << 10];
        try (answer) {
            for (int more = answer.read(buffer); more >= 0; more = answer.read(buffer)) {
                read += more;
            }
        } catch (IOException e) {
            // its session has ended
        }
        return read;
    }
}
