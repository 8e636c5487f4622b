package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a running gateway tells Prometheus. */
@Tag("jdk")
@Timeout(60)
class GatewayMetricsTest {
    private static final String TOKEN = "alice-0123456789abcdef";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void theNumbersTellOfACutAndOfTheRecovery() {
        try (TestGateway gateway = new TestGateway("--heartbeat", "200ms")) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            HttpResponse<Stream<String>> call = Wait.until(peer.posted(7, "patient"));
            Iterator<String> lines = call.body().iterator();
            String id = next(lines, "id: ");
            Wait.until("the call runs", () -> Scrape.of(gateway).value("holdfast_calls_running") == 1);
            Scrape before = Scrape.of(gateway);
            assertThat(before.value("holdfast_sessions", "state=\"attached\"")).isEqualTo(1);
            assertThat(before.value("holdfast_connections")).isEqualTo(1);

            call.body().close();

            Wait.until("the cut is seen", () -> Scrape.of(gateway).value("holdfast_connections") == 0);
            Scrape cut = Scrape.of(gateway);
            assertThat(cut.value("holdfast_sessions", "state=\"detached\"")).isEqualTo(1);
            assertThat(cut.value("holdfast_sessions", "state=\"attached\"")).isZero();
            assertThat(cut.value("holdfast_calls_running"))
                    .as("the call goes on")
                    .isEqualTo(1);
            assertThat(cut.value("holdfast_streams_attached_total", "how=\"resumed\""))
                    .isZero();

            HttpResponse<Stream<String>> resumed = Wait.until(peer.resumed(id));
            assertThat(next(resumed.body().iterator(), "data: {")).contains("\"id\":7");

            Wait.until("the call is over", () -> Scrape.of(gateway).value("holdfast_calls_running") == 0);
            Scrape after = Scrape.of(gateway);
            assertThat(after.value("holdfast_streams_attached_total", "how=\"resumed\""))
                    .isEqualTo(1);
            assertThat(after.value("holdfast_calls_seconds_count", "method=\"other\"", "outcome=\"answered\""))
                    .isEqualTo(1);
            assertThat(after.value("holdfast_calls_seconds_sum", "method=\"other\""))
                    .isGreaterThan(4);
            assertThat(after.value("holdfast_gaps_total")).isZero();
            assertThat(after.value("holdfast_sessions_opened_total")).isEqualTo(1);
        }
    }

    private static String next(Iterator<String> lines, String start) {
        while (lines.hasNext()) {
            String line = lines.next();
            if (line.startsWith(start)) {
                return line.substring(start.length());
            }
        }
        throw new AssertionError("no line begins with " + start);
    }

    @Test
    void aChildThatDiesIsToldAndSoIsTheRestoreOfItsSession() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            peer.call(1, "who");
            assertThat(Scrape.of(gateway).value("holdfast_children")).isEqualTo(1);

            peer.call(2, "die");
            peer.call(3, "who");

            Wait.until("the child is gone", () -> Scrape.of(gateway).value("holdfast_children_died_total") == 1);
            // a restore is over when all who waited for it were served, which may be after the answer to the first of
            // them
            Wait.until(
                    "the restore is over",
                    () -> Scrape.of(gateway).value("holdfast_restores_seconds_count", "outcome=\"restored\"") == 1);
            Wait.until("it is counted", () -> Scrape.of(gateway).value("holdfast_sessions_restored_total") == 1);
            Scrape scrape = Scrape.of(gateway);
            assertThat(scrape.value("holdfast_children_started_total")).isEqualTo(2);
            assertThat(scrape.value("holdfast_children_waiting")).isZero();
            assertThat(scrape.value("holdfast_children_outputs_bytes")).isZero();
            assertThat(scrape.value("holdfast_calls_seconds_count", "outcome=\"failed\""))
                    .isEqualTo(1);
            assertThat(scrape.value(
                            "holdfast_store_operations_seconds_count", "operation=\"create\"", "outcome=\"done\""))
                    .isPositive();
            assertThat(scrape.value("holdfast_store_operations_seconds_count", "operation=\"append\""))
                    .as("nobody keeps what is appended, and the meters change nothing about that")
                    .isZero();
        }
    }

    @Test
    void itIsForThoseWhomTheGatewayServes() throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, "alice " + TOKEN + "\n");
        try (TestGateway gateway = new TestGateway("--auth-token-file", file.toString())) {
            HttpPeer stranger = new HttpPeer(gateway.url());
            assertThat(stranger.get("/metrics").statusCode()).isEqualTo(401);
            assertThat(stranger.get("/metrics").body()).doesNotContain("holdfast_");

            HttpResponse<String> page = stranger.get("/metrics", "Authorization", "Bearer " + TOKEN);

            assertThat(page.statusCode()).isEqualTo(200);
            assertThat(page.headers().firstValue("Content-Type").orElseThrow())
                    .startsWith("text/plain")
                    .contains("version=0.0.4");
            assertThat(page.body())
                    .contains("holdfast_refusals_total{code=\"3101\",reason=\"unauthenticated\"} 2.0")
                    .contains("jvm_memory_used_bytes");
        }
    }

    @Test
    void noSeriesIsMadeOfWhatAClientMayChoose() {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            for (int i = 0; i < 20; i++) {
                peer.call(i + 1, "made/up" + i);
            }

            // a client has its response before its call is counted
            Wait.until(
                    "all calls are counted",
                    () -> Scrape.of(gateway).value("holdfast_calls_seconds_count", "method=\"other\"") == 20);
            assertThat(Scrape.of(gateway).text())
                    .doesNotContain("made")
                    .doesNotContain(peer.session().substring(0, 8));
        }
    }
}
