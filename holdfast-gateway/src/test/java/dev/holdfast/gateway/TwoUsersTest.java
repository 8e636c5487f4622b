package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One user takes all that there is for him, and another one is served all the same. */
@Timeout(120)
class TwoUsersTest {
    /** A call that has to wait for the other user's would not end at all. */
    private static final Duration SOON = Duration.ofSeconds(10);

    private static final int CONNECTIONS = 494;
    private static final int SESSION_CALLS = 64;
    private static final String GREEDY = "greedy-0123456789abcdef";
    private static final String MODEST = "modest-0123456789abcdef";
    /** Its calls do not end, but for one. */
    private static final String SERVER = "read line; echo '" + TestJson.INITIALIZED_RESULT
            + "'; while read -r line; do case $line in *resources/list*) echo '"
            + TestJson.of("{'jsonrpc':'2.0','id':7,'result':{}}") + "' ;; esac; done";

    private final HttpClient client = HttpClient.newHttpClient();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess gateway(String... limits) throws IOException {
        return new GatewayProcess(GatewayProcess.started(starting(limits)));
    }

    private ProcessBuilder starting(String... limits) throws IOException {
        Path tokens = folder.resolve("tokens");
        Files.writeString(tokens, "greedy " + GREEDY + "\nmodest " + MODEST + "\n");
        List<String> args = new ArrayList<>(
                List.of("serve", "--store", "memory", "--port", "0", "--auth-token-file", tokens.toString()));
        args.addAll(List.of(limits));
        args.add("--");
        args.addAll(StdioBed.script(SERVER).words());
        return GatewayProcess.builder(folder, List.of(), args);
    }

    /** A gateway that takes {@link #CONNECTIONS}, as {@code ConnectionBound} reckons. */
    private GatewayProcess withFewFiles(String... limits) throws IOException {
        ProcessBuilder starting = starting(limits);
        starting.command().addAll(0, List.of("sh", "-c", "ulimit -n 1000 && exec \"$@\"", "sh"));
        return new GatewayProcess(GatewayProcess.started(starting));
    }

    private HttpResponse<InputStream> post(URI url, String session, String message) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(url)
                .header("Authorization", "Bearer " + GREEDY)
                .header("Content-Type", "application/json")
                .header("Accept", "application/json, text/event-stream")
                .POST(BodyPublishers.ofString(TestJson.of(message)));
        return client.send(
                session.isEmpty()
                        ? request.build()
                        : request.header("Mcp-Session-Id", session).build(),
                BodyHandlers.ofInputStream());
    }

    /** Calls until no call is taken any more. */
    private int takeCalls(URI url, String session, int most) throws Exception {
        int taken = 0;
        int status = 200;
        while (status == 200 && taken < most) {
            status = post(url, session, "{'jsonrpc':'2.0','id':" + (100 + taken) + ",'method':'tools/call'}")
                    .statusCode();
            taken += status == 200 ? 1 : 0;
        }
        return taken;
    }

    private static void anotherIsServedSoon(URI url) {
        long since = System.nanoTime();
        HttpPeer modest = HttpPeer.connected(url, "Authorization", "Bearer " + MODEST);
        assertThat(modest.call(7, "resources/list")).contains("\"result\"");
        assertThat(Duration.ofNanos(System.nanoTime() - since)).isLessThan(SOON);
    }

    @Test
    void oneThatTakesEveryChildLeavesSomeToAnother() throws Exception {
        try (GatewayProcess gateway = gateway("--max-children", "8")) {
            URI url = gateway.url();
            int sessions = 0;
            HttpResponse<InputStream> opened = post(url, "", TestJson.INITIALIZE);
            while (opened.statusCode() == 200) {
                sessions++;
                String session = opened.headers().firstValue("Mcp-Session-Id").orElseThrow();
                assertThat(takeCalls(url, session, 1)).isOne();
                opened = post(url, "", TestJson.INITIALIZE);
            }
            assertThat(opened.statusCode()).isEqualTo(503);
            assertThat(sessions).isEqualTo(4);

            anotherIsServedSoon(url);
        }
    }

    @Test
    void oneThatTakesEveryCallLeavesSomeToAnother() throws Exception {
        try (GatewayProcess gateway = gateway("--max-calls", "20")) {
            URI url = gateway.url();
            HttpResponse<InputStream> opened = post(url, "", TestJson.INITIALIZE);
            String session = opened.headers().firstValue("Mcp-Session-Id").orElseThrow();

            assertThat(takeCalls(url, session, 20)).isEqualTo(10);

            anotherIsServedSoon(url);
        }
    }

    @Test
    void oneThatTakesEveryConnectionLeavesSomeToAnother() throws Exception {
        try (GatewayProcess gateway = withFewFiles()) {
            URI url = gateway.url();
            List<InputStream> streams = new ArrayList<>();
            int status = 200;
            while (status == 200) {
                HttpResponse<InputStream> opened = post(url, "", TestJson.INITIALIZE);
                status = opened.statusCode();
                String session = opened.headers().firstValue("Mcp-Session-Id").orElse("");
                for (int call = 0; status == 200 && call < SESSION_CALLS; call++) {
                    HttpResponse<InputStream> stream =
                            post(url, session, "{'jsonrpc':'2.0','id':" + (100 + call) + ",'method':'tools/call'}");
                    status = stream.statusCode();
                    if (status == 200) {
                        streams.add(stream.body());
                    } else {
                        assertThat(stream.headers().firstValue("Retry-After")).isPresent();
                    }
                }
            }
            assertThat(status).isEqualTo(503);
            assertThat(streams).hasSize(CONNECTIONS / 2);

            anotherIsServedSoon(url);

            for (InputStream stream : streams) {
                stream.close();
            }
            Wait.until("connections that have ended count no more", () -> opens(url));
        }
    }

    private boolean opens(URI url) {
        try {
            return post(url, "", TestJson.INITIALIZE).statusCode() == 200;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
