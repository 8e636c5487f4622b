package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the console shows and does, to whom, and for which pages. */
@Timeout(60)
class ConsoleTest {
    private static final String ALICE = "alice-0123456789abcdef";
    private static final String BOB = "bob-0123456789abcdef";
    private static final String OWEN = "owen-0123456789abcdef";
    private static final String OF_PAGE = "Holdfast-Console: 1";
    private static final TypeRef<Map<String, Object>> OBJECT = new TypeRef<>() {};

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private TestGateway tokens(String... more) throws IOException {
        return new TestGateway(words(more));
    }

    private String[] words(String... more) throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, "alice " + ALICE + "\nbob " + BOB + "\nowen " + OWEN + "\n");
        List<String> words = new ArrayList<>(
                List.of("--auth-token-file", file.toString(), "--console-operator", "owen", "--store", "memory"));
        words.addAll(List.of(more));
        return words.toArray(String[]::new);
    }

    private static String bearer(String token) {
        return "Authorization: Bearer " + token;
    }

    private static HttpPeer peer(TestGateway gateway, String token) {
        return HttpPeer.connected(gateway.url(), "Authorization", "Bearer " + token);
    }

    /** Asks in a way of its own, and returns all that comes back. */
    private static String answer(TestGateway gateway, String request, String... headers) throws IOException {
        String host = gateway.url().getHost();
        try (Socket socket =
                new Socket(InetAddress.getByName(host), gateway.url().getPort())) {
            socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
            boolean named = List.of(headers).stream().anyMatch(header -> header.startsWith("Host: "));
            String head = request + " HTTP/1.1\r\nConnection: close\r\n" + (named ? "" : "Host: " + host + "\r\n")
                    + String.join("\r\n", headers) + (headers.length == 0 ? "" : "\r\n") + "\r\n";
            socket.getOutputStream().write(head.getBytes(ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
        }
    }

    private static Map<String, Object> json(String answer) throws IOException {
        assertThat(answer)
                .startsWith("HTTP/1.1 200 ")
                .contains("Content-Type: application/json;charset=utf-8\r\n", "Cache-Control: no-store\r\n");
        return McpJsonDefaults.getMapper().readValue(answer.substring(answer.indexOf("\r\n\r\n") + 4), OBJECT);
    }

    private static Map<String, Object> data(TestGateway gateway, String query, String... headers) throws IOException {
        List<String> all = new ArrayList<>(List.of(headers));
        all.add(OF_PAGE);
        return json(answer(gateway, "GET /console/data" + query, all.toArray(String[]::new)));
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> list(@Nullable Object value) {
        return (List<Map<String, Object>>) Objects.requireNonNull(value);
    }

    private static Map<?, ?> map(@Nullable Object value) {
        return (Map<?, ?>) Objects.requireNonNull(value);
    }

    private static List<Map<String, Object>> rows(Map<String, Object> data) {
        return list(map(data.get("sessions")).get("rows"));
    }

    private static String shortId(HttpPeer peer) {
        return peer.session().substring(0, 8);
    }

    private static String end(TestGateway gateway, String session, String... headers) throws IOException {
        return answer(gateway, "DELETE /console/session?server=&session=" + session, headers);
    }

    @Test
    void thePageIsForEverybodyAndHoldsNoData() throws IOException {
        try (TestGateway gateway = tokens()) {
            HttpPeer alice = peer(gateway, ALICE);

            String page = answer(gateway, "GET /console");

            assertThat(page)
                    .startsWith("HTTP/1.1 200 ")
                    .contains("Content-Type: text/html;charset=utf-8\r\n")
                    .contains("Content-Security-Policy: default-src 'none'; script-src 'sha256-")
                    .contains("frame-ancestors 'none'\r\n", "X-Frame-Options: DENY\r\n")
                    .contains("<title>Holdfast console</title>")
                    .doesNotContain(shortId(alice), "alice", "{policy}", "https://", " style=", " onclick");
        }
    }

    private void servers(String text) throws IOException {
        Files.writeString(folder.resolve("fresh"), TestJson.of(text));
        Files.move(folder.resolve("fresh"), folder.resolve("servers.json"), StandardCopyOption.REPLACE_EXISTING);
    }

    private static Map<Object, Object> failed(TestGateway gateway, String token) {
        try {
            return list(data(gateway, "", bearer(token)).get("failed")).stream()
                    .collect(Collectors.toMap(each -> each.get("name"), each -> each.get("why")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void anOperatorIsToldWhatCouldNotBeStartedChangedOrRead() throws IOException {
        String text = "{'mcpServers': {'kept': {'command': 'sh'}, 'none': {'command': '/no/such'}}}";
        servers(text);
        String host = OutsideAddress.find()
                .orElseThrow(() -> new AssertionError("this machine has no other address than loopback"));
        String config = folder.resolve("servers.json").toString();
        try (TestGateway gateway = TestGateway.demo(words("--config", config, "--host", host, "--console", "on"))) {
            Map<String, String> absent = Map.of("none", "the command was not found: /no/such");
            assertThat(failed(gateway, OWEN)).isEqualTo(absent);
            assertThat(failed(gateway, ALICE)).isEqualTo(Map.of("none", "the log of the gateway says why"));

            servers(text.replace("'sh'", "'/gone'"));
            Wait.until("a server stays as it was", () -> failed(gateway, OWEN).size() == 2);
            assertThat(failed(gateway, OWEN)).containsEntry("kept", "the command was not found: /gone");

            servers("{");
            Wait.until("the file is read", () -> failed(gateway, OWEN).containsKey(""));
            assertThat(failed(gateway, OWEN).get("")).asString().contains("servers.json, line 1, column 2: is no JSON");
            assertThat(failed(gateway, ALICE)).containsOnlyKeys("kept", "none");

            Files.delete(folder.resolve("servers.json"));
            Wait.until("it is gone", () -> failed(gateway, OWEN).toString().contains("there is no such file"));
            servers("{");
            Wait.until(
                    "it is there again", () -> failed(gateway, OWEN).toString().contains("is no JSON"));

            servers(text);
            Wait.until("all is well", () -> failed(gateway, OWEN).equals(absent));
        }
    }

    @Test
    void itShowsServersSessionsAndStreams() throws Exception {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.introduced(
                    gateway.url(),
                    TestJson.of("{'jsonrpc':'2.0','id':'init','method':'initialize','params':{'protocolVersion':"
                            + "'2025-11-25','clientInfo':{'name':'<script>alert(1)</script>','version':'1'}}}"));
            peer.call(1, "ping");

            Map<String, Object> data = data(gateway, "?session=" + shortId(peer));

            assertThat(list(data.get("servers"))).singleElement().satisfies(server -> {
                assertThat(server)
                        .containsEntry("name", "")
                        .containsEntry("runs", "sh")
                        .containsEntry("state", "serving")
                        .containsEntry("store", "memory")
                        .containsEntry("trouble", "");
                assertThat(map(server.get("children")).get("now")).isEqualTo(1);
            });
            assertThat(list(data.get("children")))
                    .singleElement()
                    .satisfies(child -> assertThat(child).containsEntry("session", shortId(peer)));
            assertThat(rows(data))
                    .singleElement()
                    .satisfies(row -> assertThat(row)
                            .containsEntry("id", shortId(peer))
                            .containsEntry("client", "<script>alert(1)</script> 1")
                            .containsEntry("revision", "2025-11-25"));
            assertThat(list(map(data.get("detail")).get("shown")))
                    .extracting(stream -> stream.get("name"))
                    .contains("0.0");
            assertThat(list(data.get("feed")))
                    .extracting(news -> news.get("what"))
                    .contains("opened");
            assertThat(data.toString()).doesNotContain(peer.session());
        }
    }

    @Test
    void aDropAReturnAndAFreshChildAreToldAsTheyHappen() throws Exception {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            peer.posted(1, "die").join().body().close();
            peer.call(2, "ping");
            Wait.until("its fresh child is told", () -> told(gateway).contains("restart"));
            peer.listened().join().body().close();
            Wait.until("the drop is told", () -> told(gateway).contains("drop"));
            peer.listened().join().body().close();
            Wait.until("the return is told", () -> told(gateway).contains("resumed"));

            int last = list(data(gateway, "").get("feed")).stream()
                    .mapToInt(ConsoleTest::number)
                    .max()
                    .orElseThrow();
            assertThat(list(data(gateway, "?after=" + last).get("feed")))
                    .allSatisfy(news -> assertThat(number(news)).isGreaterThan(last));
        }
    }

    private static int number(Map<String, Object> news) {
        return (Integer) Objects.requireNonNull(news.get("number"));
    }

    private static List<Object> told(TestGateway gateway) {
        try {
            return list(data(gateway, "").get("feed")).stream()
                    .map(news -> news.get("what"))
                    .toList();
        } catch (IOException e) {
            throw new AssertionError("no answer", e);
        }
    }

    @Test
    void aPrincipalSeesAndEndsItsOwnSessionsAndAnOperatorThoseOfAll() throws IOException {
        try (TestGateway gateway = tokens()) {
            HttpPeer alice = peer(gateway, ALICE);
            HttpPeer bob = peer(gateway, BOB);
            String ofBob = shortId(bob);

            Map<String, Object> seen = data(gateway, "?session=" + ofBob, bearer(ALICE));

            assertThat(seen).containsEntry("principal", "alice").containsEntry("all", false);
            assertThat(rows(seen)).extracting(row -> row.get("id")).containsExactly(shortId(alice));
            assertThat(list(seen.get("feed")))
                    .extracting(news -> news.get("session"))
                    .containsOnly(shortId(alice));
            assertThat(seen.get("detail")).isNull();
            assertThat(seen.toString()).doesNotContain(ofBob, "bob");
            assertThat(end(gateway, ofBob, bearer(ALICE), OF_PAGE)).startsWith("HTTP/1.1 404 ");

            Map<String, Object> all = data(gateway, "?search=" + ofBob, bearer(OWEN));
            assertThat(all).containsEntry("all", true);
            assertThat(map(all.get("sessions")).get("all")).isEqualTo(2);
            assertThat(rows(all)).extracting(row -> row.get("principal")).containsExactly("bob");

            assertThat(end(gateway, ofBob, bearer(OWEN), OF_PAGE)).startsWith("HTTP/1.1 204 ");
            assertThat(bob.post("{'jsonrpc':'2.0','id':2,'method':'ping'}").statusCode())
                    .isEqualTo(404);
            assertThat(end(gateway, shortId(alice), bearer(ALICE), OF_PAGE)).startsWith("HTTP/1.1 204 ");
        }
    }

    @Test
    void whatRunsIsForOperatorsAndOfAnUpstreamNobodySeesThePath() throws IOException {
        try (TestGateway gateway = tokens()) {
            assertThat(list(data(gateway, "", bearer(OWEN)).get("servers")))
                    .singleElement()
                    .satisfies(server -> assertThat(server).containsEntry("runs", "sh"));
            assertThat(list(data(gateway, "", bearer(ALICE)).get("servers")))
                    .singleElement()
                    .satisfies(server ->
                            assertThat(server).containsEntry("runs", "").containsEntry("state", "serving"));
        }
        try (TestGateway gateway = TestGateway.before(URI.create("http://127.0.0.1:1/s/k3y-of-a-server/mcp"))) {
            Map<String, Object> data = data(gateway, "");

            assertThat(list(data.get("servers")))
                    .singleElement()
                    .satisfies(server -> assertThat(server).containsEntry("runs", "127.0.0.1"));
            assertThat(data.toString()).doesNotContain("k3y");
        }
    }

    @Test
    void onlyItsOwnPageMayAsk() throws IOException {
        try (TestGateway gateway = new TestGateway("--allowed-origin", "https://app.example")) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            String port = ":" + gateway.url().getPort();
            String host = "Host: localhost" + port;
            for (List<String> headers : List.of(
                    List.of(host),
                    List.of(host, OF_PAGE, "Origin: http://evil.example"),
                    List.of(host, OF_PAGE, "Origin: https://app.example"),
                    List.of(host, OF_PAGE, "Origin: http://localhost:1"),
                    List.of(host, OF_PAGE, "Origin: null"),
                    List.of(host, OF_PAGE, "Sec-Fetch-Site: cross-site"),
                    List.of(host, OF_PAGE, "Sec-Fetch-Site: same-site"),
                    List.of("Host: rebound.example" + port, OF_PAGE, "Origin: http://rebound.example" + port),
                    List.of("Host: rebound.example" + port, OF_PAGE, "Sec-Fetch-Site: same-origin"))) {
                String[] all = headers.toArray(String[]::new);
                assertThat(answer(gateway, "GET /console/data", all))
                        .as(headers.toString())
                        .startsWith("HTTP/1.1 403 ")
                        .doesNotContain(shortId(peer), "Access-Control-Allow-Methods");
                assertThat(end(gateway, shortId(peer), all))
                        .as(headers.toString())
                        .startsWith("HTTP/1.1 403 ");
            }
            assertThat(answer(gateway, "OPTIONS /console/session", host, "Origin: https://app.example"))
                    .startsWith("HTTP/1.1 405 ")
                    .doesNotContain("Access-Control");
            peer.call(7, "ping");

            assertThat(end(gateway, shortId(peer), host, OF_PAGE, "Origin: http://localhost" + port))
                    .startsWith("HTTP/1.1 204 ");
        }
    }

    @Test
    void whereTokensAreNeededItNeedsOne() throws IOException {
        try (TestGateway gateway = tokens()) {
            assertThat(answer(gateway, "GET /console/data", OF_PAGE))
                    .startsWith("HTTP/1.1 401 ")
                    .doesNotContain("sessions");
            assertThat(end(gateway, "whatever", OF_PAGE)).startsWith("HTTP/1.1 401 ");
        }
    }

    @Test
    void onAnotherAddressItIsThereIfItIsAskedForAndNowhereIfItIsSwitchedOff() throws Exception {
        String outside = OutsideAddress.find().orElseThrow();
        try (TestGateway gateway = tokens("--host", outside)) {
            assertThat(answer(gateway, "GET /console")).startsWith("HTTP/1.1 404 ");
            assertThat(answer(gateway, "GET /console/data", OF_PAGE, bearer(OWEN)))
                    .startsWith("HTTP/1.1 404 ");
        }
        try (TestGateway gateway = tokens("--host", outside, "--console", "on")) {
            assertThat(answer(gateway, "GET /console")).startsWith("HTTP/1.1 200 ");
            assertThat(data(gateway, "", bearer(OWEN))).containsEntry("all", true);
        }
        try (TestGateway gateway = new TestGateway("--console", "off")) {
            assertThat(answer(gateway, "GET /console")).startsWith("HTTP/1.1 404 ");
        }
    }

    @Test
    void aListIsShownInPages() throws IOException {
        try (TestGateway gateway = TestGateway.demo()) {
            for (int i = 0; i < 7; i++) {
                HttpPeer.connected(gateway.url());
            }

            Map<String, Object> last = data(gateway, "?rows=3&from=600");

            assertThat(map(last.get("sessions")).get("found")).isEqualTo(7);
            assertThat(map(last.get("sessions")).get("from")).isEqualTo(6);
            assertThat(rows(last)).hasSize(1);
            assertThat(rows(data(gateway, "?rows=nonsense&from=-1&order=?"))).hasSize(7);
            assertThat(rows(data(gateway, "?state=detached"))).isEmpty();
        }
    }

    @Test
    void aFloodOfOneKindLeavesRoomForOthers() throws IOException {
        try (TestGateway gateway = TestGateway.demo()) {
            HttpPeer.connected(gateway.url());
            for (int i = 0; i < 200; i++) {
                answer(gateway, "GET /mcp", "Accept: text/event-stream", "Mcp-Session-Id: nobody");
            }

            List<Map<String, Object>> news = list(data(gateway, "").get("feed"));

            assertThat(news).extracting(each -> each.get("what")).contains("opened");
            assertThat(news.size()).isLessThan(100);
        }
    }
}
