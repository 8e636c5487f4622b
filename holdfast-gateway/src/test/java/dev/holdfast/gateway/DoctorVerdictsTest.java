package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code holdfast doctor} says of servers and hops that do something uncommon, and what it does not say. */
@Timeout(120)
class DoctorVerdictsTest {
    private static final Duration LIMIT = Duration.ofMillis(1500);
    private static final String SESSION = "Mcp-Session-Id";

    @AutoClose
    private final Opened opened = new Opened();

    /** A server of one protocol, with a listening stream on which it says nothing, and pings that say whether there is a session. */
    private ScriptedUpstream silent() {
        return opened.add(new ScriptedUpstream())
                .on("GET", DoctorVerdictsTest::listen)
                .on("ping", asked -> {
                    if (asked.header(SESSION).startsWith("session-")) {
                        asked.result("pong");
                    } else {
                        asked.status(asked.header(SESSION).isEmpty() ? 400 : 404);
                    }
                });
    }

    private static void listen(ScriptedUpstream.Asked asked) throws IOException {
        OutputStream unused = asked.stream();
    }

    @Test
    void aHealthyServerThatSaysNothingIsNotSaidToBeDropped() {
        ScriptedUpstream server = silent().on("GET", asked -> {
            LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
            listen(asked);
        });
        DoctorFindings findings = DoctorFindings.at(server.url());

        assertThat(findings.level("age")).as(findings.all().toString()).isEqualTo("ok");
        assertThat(findings.level("idle")).isEqualTo("ok");
        assertThat(findings.level("come-back")).isEqualTo("ok");
        assertThat(findings.level("session-kept")).isEqualTo("ok");
        assertThat(findings.of("buffering").toString()).contains("unknown", "not examined");
        assertThat(findings.exit()).isEqualTo(2);
    }

    @Test
    void aSessionIsAskedForAsSoonAsItsStreamBreaks() {
        Map<String, Long> last = new ConcurrentHashMap<>();
        ScriptedUpstream server = silent();
        server.on("GET", asked -> {
                    last.put(asked.header(SESSION), System.nanoTime());
                    listen(asked);
                })
                .on("ping", asked -> {
                    Duration idle = Duration.ofNanos(
                            System.nanoTime() - last.getOrDefault(asked.header(SESSION), System.nanoTime()));
                    last.put(asked.header(SESSION), System.nanoTime());
                    asked.status(idle.compareTo(LIMIT.multipliedBy(3)) < 0 ? 202 : 404);
                });
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofAge(server.url(), LIMIT)).url(), "--for", "15s");

        assertThat(findings.found("idle")).contains("this server keeps the session");
        assertThat(findings.figure("idle", "cuts")).isEqualTo(2);
    }

    @Test
    void onlyAnAnswerThatSaysSoMeansThatASessionIsLost() {
        ScriptedUpstream server = silent();
        server.on("GET", asked -> {
            listen(asked);
            server.on("ping", ping -> ping.status(503));
        });
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofAge(server.url(), LIMIT)).url());

        assertThat(findings.found("idle")).contains("whether the session outlives it could not be seen");
        assertThat(findings.level("session-kept")).isEqualTo("unknown");
    }

    @Test
    void aCutThatDoesNotComeAgainIsNoLimit() {
        AtomicInteger streams = new AtomicInteger();
        ScriptedUpstream server = silent().on("GET", asked -> {
            OutputStream stream = asked.stream();
            int most = streams.incrementAndGet() == 1 ? 10 : 1000;
            for (int i = 0; i < most; i++) {
                stream.write(":\n\n".getBytes(UTF_8));
                stream.flush();
                LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
            }
            throw new IOException("breaks");
        });
        DoctorFindings findings = DoctorFindings.at(server.url());

        assertThat(findings.found("age")).as(findings.all().toString()).contains("and the next one was not");
        assertThat(findings.level("age")).isEqualTo("warning");
        assertThat(findings.found("buffering")).contains("the first bytes of a stream");
    }

    @Test
    void aRefusalThatComesLateIsNoEnd() {
        ScriptedUpstream server = silent().on("GET", asked -> {
            LockSupport.parkNanos(LIMIT.toNanos());
            asked.status(405);
        });
        DoctorFindings findings = DoctorFindings.at(server.url());

        assertThat(findings.of("age").toString()).contains("unknown", "answered 405 after");
        assertThat(findings.level("listening")).isEqualTo("ok");
    }

    @Test
    void aBodyWithoutAMarkOfItsEndIsCutAndNotEndedInOrder() throws IOException {
        OldServer server = opened.add(new OldServer());
        DoctorFindings findings = DoctorFindings.at(server.url());

        assertThat(findings.found("idle")).as(findings.all().toString()).startsWith("streams that are silent for");
        assertThat(findings.level("idle")).isEqualTo("problem");
    }

    @Test
    void nodesThatDoNotShareSessionsAreTold() {
        AtomicInteger requests = new AtomicInteger();
        ScriptedUpstream server = silent();
        server.on("ping", asked -> asked.status(requests.incrementAndGet() % 2 == 0 ? 404 : 202));
        DoctorFindings findings = DoctorFindings.at(server.url());

        assertThat(findings.level("nodes")).isEqualTo("problem");
        assertThat(findings.found("nodes"))
                .startsWith("4 of 8 requests")
                .contains("several servers stand behind the URL");
        assertThat(findings.advice("nodes")).contains("hash $http_mcp_session_id", "--store redis");
        assertThat(findings.exit()).isEqualTo(1);
    }

    /** One that answers larger bodies otherwise. */
    private ScriptedUpstream answeringLarge(int status) {
        return silent().on("GET", asked -> asked.status(405)).on("ping", asked -> {
            if (asked.body().length() > 100_000) {
                asked.status(status);
            } else {
                asked.status(asked.header(SESSION).startsWith("session-") ? 202 : 404);
            }
        });
    }

    @Test
    void aLimitAFirewallAndATimeoutAreTold() {
        DoctorFindings limited = DoctorFindings.at(answeringLarge(413).url(), "--for", "1s");
        assertThat(limited.level("body")).isEqualTo("warning");
        assertThat(limited.advice("body")).contains("raise the limit (nginx: client_max_body_size");

        DoctorFindings forbidden = DoctorFindings.at(answeringLarge(403).url(), "--for", "1s");
        assertThat(forbidden.found("body")).contains("refused (403", "a rule of a firewall");
        assertThat(forbidden.figure("body", "refusedBytes")).isBetween(99_000L, 110_000L);
        assertThat(forbidden.advice("body")).doesNotContain("--max-request-size");

        DoctorFindings late = DoctorFindings.at(answeringLarge(504).url(), "--for", "1s");
        assertThat(late.level("body")).isEqualTo("unknown");
        assertThat(late.found("body")).contains("were not answered in time");
        assertThat(late.figure("body", "refusedBytes")).isEqualTo(-1);
    }

    @Test
    void aCompressorThatSendsOnlyItsHeadHoldsEventsBack() {
        ScriptedUpstream server = silent().on("GET", asked -> {
            boolean gzip = asked.header("Accept-Encoding").contains("gzip");
            if (gzip) {
                asked.exchange().getResponseHeaders().set("Content-Encoding", "gzip");
            }
            OutputStream stream = asked.stream();
            if (gzip) {
                ByteArrayOutputStream head = new ByteArrayOutputStream();
                GZIPOutputStream unused = new GZIPOutputStream(head);
                stream.write(head.toByteArray());
            } else {
                stream.write(":\n\n".getBytes(UTF_8));
            }
            stream.flush();
        });
        DoctorFindings findings = DoctorFindings.at(server.url(), "--for", "1s");

        assertThat(findings.level("compression")).as(findings.all().toString()).isEqualTo("problem");
        assertThat(findings.found("compression")).contains("(gzip), which holds their events back");
    }

    @Test
    void compressedEventsThatComeAtOnceAreSeen() {
        ScriptedUpstream server = silent().on("GET", asked -> {
            asked.exchange().getResponseHeaders().set("Content-Encoding", "gzip");
            OutputStream stream = new GZIPOutputStream(asked.stream(), true);
            stream.write("id: 1\ndata:\n\n".getBytes(UTF_8));
            stream.flush();
        });

        assertThat(DoctorFindings.at(server.url(), "--for", "1s").level("compression"))
                .isEqualTo("warning");
    }

    @Test
    void aServerThatSeesABreakLateIsAskedAgain() {
        AtomicInteger refusals = new AtomicInteger();
        ScriptedUpstream server = silent();
        server.on("GET", asked -> {
            boolean first = server.asked("GET").stream()
                            .filter(each -> each.header(SESSION).equals(asked.header(SESSION)))
                            .count()
                    == 1;
            if (first || refusals.incrementAndGet() > 10) {
                listen(asked);
            } else {
                asked.status(409);
            }
        });

        assertThat(DoctorFindings.at(server.url(), "--for", "1s").level("come-back"))
                .isEqualTo("ok");
        assertThat(refusals.get()).isGreaterThan(10);
    }

    @Test
    void whatTheSpecificationLeavesToTheServerIsNoFault() {
        ScriptedUpstream server =
                silent().on("GET", asked -> asked.status(405)).on("DELETE", asked -> asked.status(405));
        DoctorFindings findings = DoctorFindings.at(server.url(), "--for", "1s");

        assertThat(findings.of("listening").toString()).contains("ok", "405");
        assertThat(findings.all().path("problems").asInt())
                .as(findings.all().toString())
                .isZero();
        assertThat(findings.of("age").toString()).contains("unknown", "answered 405");
        assertThat(findings.of("idle").toString()).contains("unknown");
    }

    @Test
    void anEndpointEventWithoutAUrlIsAClearError() {
        for (String data : List.of("", " ", "http://[", "http://elsewhere.example/message")) {
            ScriptedUpstream server = opened.add(new ScriptedUpstream())
                    .on("initialize", asked -> asked.status(405))
                    .on("GET", asked -> {
                        OutputStream stream = asked.stream();
                        stream.write(("event: endpoint\ndata: " + data + "\n\n").getBytes(UTF_8));
                        stream.flush();
                    });
            DoctorFindings findings = DoctorFindings.at(server.url());

            assertThat(findings.exit()).isEqualTo(2);
            assertThat(findings.found("session")).as(data).contains("does not say where to post");
        }
    }

    @Test
    void whoStopsItLeavesNoSessionBehind() throws Exception {
        ScriptedUpstream server = silent();
        Process doctor = new ProcessBuilder(ClassData.gateway(
                        List.of(), List.of("doctor", "--for", "1m", server.url().toString())))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            Wait.until(
                    "streams are watched", Wait.START, () -> server.asked("GET").size() > 1);
            doctor.destroy();
            assertThat(doctor.waitFor(20, TimeUnit.SECONDS)).isTrue();
        } finally {
            doctor.destroyForcibly();
        }

        int sessions = server.asked("initialize").size();
        assertThat(server.asked("DELETE").stream()
                        .map(each -> each.header(SESSION))
                        .distinct())
                .hasSize(sessions);
    }

    /** A server that speaks HTTP/1.0, and closes the connection of a stream after a while. */
    private static final class OldServer implements AutoCloseable {
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final ExecutorService threads = Executors.newCachedThreadPool();

        private OldServer() throws IOException {
            threads.execute(() -> {
                while (!listening.isClosed()) {
                    try {
                        Socket client = listening.accept();
                        threads.execute(() -> serve(client));
                    } catch (IOException e) {
                        // this was closed
                    }
                }
            });
        }

        private void serve(Socket client) {
            try (client) {
                BufferedReader in = new BufferedReader(new InputStreamReader(client.getInputStream(), UTF_8));
                String first = String.valueOf(in.readLine());
                int length = 0;
                for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
                    length = line.toLowerCase(Locale.ROOT).startsWith("content-length:")
                            ? Integer.parseInt(line.substring(15).strip())
                            : length;
                }
                char[] body = new char[length];
                for (int count = 0; count < length; ) {
                    count += Math.max(1, in.read(body, count, length - count));
                }
                Matcher id = Pattern.compile("\"id\":(\\d+)").matcher(new String(body));
                boolean stream = first.startsWith("GET");
                String answer = id.find()
                        ? "{\"jsonrpc\":\"2.0\",\"id\":" + id.group(1)
                                + ",\"result\":{\"protocolVersion\":\"2025-11-25\"}}"
                        : "";
                client.getOutputStream()
                        .write(("HTTP/1.0 200 OK\r\nMcp-Session-Id: session\r\nContent-Type: "
                                        + (stream ? "text/event-stream" : "application/json") + "\r\n\r\n" + answer)
                                .getBytes(UTF_8));
                LockSupport.parkNanos(stream ? LIMIT.toNanos() : 0);
            } catch (IOException e) {
                // the client has left
            }
        }

        private URI url() {
            return URI.create("http://127.0.0.1:" + listening.getLocalPort() + "/mcp");
        }

        @Override
        public void close() throws IOException {
            listening.close();
            threads.shutdownNow();
        }
    }
}
