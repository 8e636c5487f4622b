package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.stdio.StdioBed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the log of a real gateway says of who called what. */
@Timeout(180)
class GatewayAccessLogTest {
    private static final String TOKEN = "t0ken-of-alice-0123456789";
    private static final String[] ALICE = {"Authorization", "Bearer " + TOKEN};
    private static final String INITIALIZE =
            "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':"
                    + "'2025-11-25','capabilities':{},'clientInfo':{'name':'tester','version':'1.2'}}}";

    /** A server with a tool that only reads, and takes two seconds. */
    private static final String READER = """
            result() {
              id=${line#*'"id":'}
              printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "${id%%[,\\}]*}" "$1"
            }
            while read -r line; do
              case $line in
                *'"method":"notifications/'*) ;;
                *'"method":"initialize"'*) result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"method":"tools/list"'*) result '{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}]}' ;;
                *'"method":"tools/call"'*)
                  printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}\\n'
                  sleep 2
                  result '{"content":[]}' ;;
              esac
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private GatewayProcess serve(String log, String... options) throws IOException {
        Path tokens = Files.writeString(folder.resolve("tokens"), "alice " + TOKEN + "\n");
        List<String> words = new ArrayList<>(List.of("serve", "--port", "0", "--auth-token-file", tokens.toString()));
        words.addAll(List.of(options));
        return new GatewayProcess(GatewayProcess.builder(folder, List.of(), words)
                .redirectError(folder.resolve(log).toFile())
                .start());
    }

    private static void stop(GatewayProcess gateway) throws InterruptedException {
        gateway.process().destroy();
        assertThat(gateway.exitCode(30)).isZero();
    }

    /** What is told of a session, behind its name. */
    private List<String> told(String log, HttpPeer peer) {
        String name = "access: session " + peer.session().substring(0, 8) + ": ";
        return lines(log).stream()
                .filter(line -> line.contains(name))
                .map(line -> line.substring(line.indexOf(name) + name.length()))
                .toList();
    }

    private List<String> lines(String log) {
        try {
            return Files.readAllLines(folder.resolve(log));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String call(int id, String tool, String arguments) {
        return "{'jsonrpc':'2.0','id':" + id + ",'method':'tools/call','params':{'name':'" + tool + "','arguments':"
                + arguments + ",'_meta':{'progressToken':" + id + "}}}";
    }

    /** Reads up to the first progress, and returns its event id. */
    private static String progressOf(Stream<String> stream) {
        Iterator<String> lines = stream.iterator();
        String id = "";
        while (true) {
            String line = lines.next();
            id = line.startsWith("id: ") ? line.substring("id: ".length()) : id;
            if (line.contains("notifications/progress")) {
                return id;
            }
        }
    }

    private static void finish(HttpResponse<Stream<String>> stream) {
        assertThat(stream.body().filter(line -> line.contains("\"result\""))).hasSize(1);
    }

    @Test
    void byDefaultEverySessionIsToldAndNoCall() throws Exception {
        try (GatewayProcess gateway = serve("log", "--store", "memory")) {
            URI url = gateway.url();
            HttpPeer peer = HttpPeer.introduced(url, INITIALIZE, ALICE);
            peer.post(call(1, "echo", "{'text':'hello'}"));
            HttpPeer drained = HttpPeer.introduced(url, INITIALIZE, ALICE);
            peer.delete();
            stop(gateway);

            String who = "client=\"tester\" version=\"1.2\" principal=\"alice\"";
            String opened = "opened " + who + " protocol=\"2025-11-25\" over=http";
            assertThat(told("log", peer)).hasSize(2).first().isEqualTo(opened);
            assertThat(told("log", peer))
                    .last()
                    .asString()
                    .matches("ended reason=terminated code=1001 age=\\d+s unused=\\d+s calls=1 " + who
                            + ": terminated by the client");
            assertThat(told("log", drained)).hasSize(2).last().asString().startsWith("ended reason=drained code=1008 ");
            assertThat(lines("log")).noneMatch(line -> line.contains(TOKEN) || line.contains(peer.session()));
        }
    }

    @Test
    void callsAreToldWithTheirToolAndHowTheyEnded() throws Exception {
        try (GatewayProcess gateway = serve("log", "--store", "memory", "--access-log", "calls")) {
            HttpPeer peer = HttpPeer.introduced(gateway.url(), INITIALIZE, ALICE);
            peer.post(call(1, "echo", "{'text':'hello'}"));
            peer.post(call(2, "slow", "{}"));
            peer.post(call(3, "none", "{}"));
            peer.call(4, "no/method");
            try (Stream<String> slow = Wait.until(peer.posted(call(5, "slow", "{'ms':60000,'steps':600}")))
                    .body()) {
                progressOf(slow);
                peer.post("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':5}}");
                Wait.until(
                        "it is cancelled",
                        () -> told("log", peer).stream().anyMatch(line -> line.contains("outcome=cancelled")));
            }
            HttpResponse<Stream<String>> cut = Wait.until(peer.posted(call(6, "slow", "{'ms':1000,'steps':10}")));
            String seen = progressOf(cut.body());
            cut.body().close();
            finish(Wait.until(peer.resumed(seen)));
            peer.delete();
            stop(gateway);

            List<String> told = told("log", peer);
            assertThat(told).hasSize(8);
            String end = " took=\\d+ms resumed=0 rerun=false principal=\"alice\"";
            String tool = "call method=\"tools/call\" tool=";
            assertThat(told.get(1)).matches(tool + "\"echo\" outcome=answered" + end);
            assertThat(told.get(2)).matches(tool + "\"slow\" outcome=tool-error" + end);
            assertThat(told.get(3)).matches(tool + "\"none\" outcome=failed code=\"-32602\"" + end);
            assertThat(told.get(4)).matches("call method=\"no/method\" outcome=failed code=\"-32601\"" + end);
            assertThat(told.get(5)).matches(tool + "\"slow\" outcome=cancelled" + end);
            assertThat(told.get(6))
                    .matches(tool
                            + "\"slow\" outcome=answered took=1\\d\\d\\dms resumed=1 rerun=false principal=\"alice\"");
            assertThat(told.get(7)).contains(" calls=6 ");
        }
    }

    @Test
    void aCallThatIsRunAgainByTheNextGatewayIsToldThere() throws Exception {
        HttpPeer peer;
        String seen;
        List<String> options = new ArrayList<>(List.of("--access-log", "calls", "--"));
        options.addAll(StdioBed.script(READER).words());
        String[] reader = options.toArray(String[]::new);
        try (GatewayProcess first = serve("first", reader)) {
            peer = HttpPeer.introduced(first.url(), INITIALIZE, ALICE);
            peer.post("{'jsonrpc':'2.0','id':1,'method':'tools/list'}");
            seen = progressOf(Wait.until(peer.posted(call(2, "read", "{}"))).body());
            first.process().destroyForcibly().waitFor();
        }
        try (GatewayProcess second = serve("second", reader)) {
            HttpPeer again = peer.at(second.url());
            finish(Wait.until(again.resumed(seen)));
            again.delete();
            stop(second);
        }
        assertThat(told("first", peer)).hasSize(2);
        List<String> told = told("second", peer);
        assertThat(told).hasSize(3);
        assertThat(told.get(0)).startsWith("returned client=\"tester\" version=\"1.2\" principal=\"alice\" protocol=");
        assertThat(told.get(1))
                .startsWith("call method=\"tools/call\" tool=\"read\" outcome=answered took=2")
                .endsWith(" rerun=true principal=\"alice\"");
        assertThat(told.get(2)).startsWith("ended reason=terminated ").contains(" calls=1 ");
    }

    @Test
    void hostileNamesMakeNoLineAndNoMeterOfTheirOwn() throws Exception {
        String forged = "x\\n2026-01-01T00:00:00.000Z INFO  access: session 12345678: ended\\u001b[2J";
        String initialize =
                INITIALIZE.replace("tester", forged + "y".repeat(10_000)).replace("1.2", "\\u2028\\u202e");
        try (GatewayProcess gateway = serve("log", "--store", "memory", "--access-log", "calls")) {
            URI url = gateway.url();
            HttpPeer peer = HttpPeer.introduced(url, initialize, ALICE);
            for (int i = 0; i < 300; i++) {
                peer.post(call(i, forged + i, "{}"));
            }
            peer.post("{'jsonrpc':'2.0','id':'m','method':'" + forged + "'}");
            peer.post(call(301, "echo", "{'text':'hello'}"));
            Scrape scrape = new Scrape(peer.get("/metrics", ALICE).body());
            peer.delete();
            stop(gateway);

            assertThat(scrape.text()).doesNotContain("12345678").doesNotContain("x\\n");
            assertThat(scrape.value("holdfast_tool_calls_seconds_count", "tool=\"other\""))
                    .isEqualTo(300);
            assertThat(scrape.value("holdfast_tool_calls_seconds_count", "tool=\"echo\"", "outcome=\"answered\""))
                    .isEqualTo(1);
            List<String> told = told("log", peer);
            assertThat(told).hasSize(304).allSatisfy(line -> assertThat(line).hasSizeLessThan(500));
            assertThat(told.get(0)).contains("client=\"x\\u{a}2026-", "...\"", "version=\"\\u{2028}\\u{202e}\"");
            assertThat(lines("log"))
                    .noneMatch(line -> line.startsWith("2026-01-01") || line.matches(".*[\\p{Cc}\\p{Cf}\u2028].*"));
        }
    }

    @Test
    void itCanBeSwitchedOffByItself() throws Exception {
        try (GatewayProcess gateway =
                serve("log", "--store", "memory", "--log-level", "debug", "--access-log", "off")) {
            HttpPeer peer = HttpPeer.introduced(gateway.url(), INITIALIZE, ALICE);
            peer.post(call(1, "slow", "{'ms':1,'steps':1}"));
            peer.delete();
            stop(gateway);

            assertThat(lines("log"))
                    .anyMatch(line -> line.contains(" DEBUG "))
                    .noneMatch(line -> line.contains(" access: "));
        }
    }
}
