package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.FreePort;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.rocksdb.RocksDbStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many servers behind one gateway, of a file that changes. */
@Timeout(600)
class ManyServersTest {
    /** How often the file changes under load. */
    private static final int RELOADS = Integer.getInteger("holdfast.reloads", 6);

    /** How many changes are looked at for what they leave behind, and how much of that may be on its way. */
    private static final int LEAVING = 12;

    private static final int FEW = 4;

    private static final String[] ALICE = {"Authorization", "Bearer " + "a".repeat(48)};
    private static final String[] BOB = {"Authorization", "Bearer " + "b".repeat(48)};

    private static final String SCRIPT = """
            while read -r line; do
              id=${line#*'"id":'}
              id=${id%%[,\\}]*}
              case $line in
                *'"method":"notifications/'*) continue ;;
                *'"method":"slow"'*) sleep 1 ;;
                *'"method":"brief"'*) sleep 0.1 ;;
                *'"method":"endless"'*) sleep 300 ;;
                *'"name":"ask"'*)
                  asking=$id
                  printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?"}}\\n'
                  continue ;;
                *'"id":"q"'*) id=$asking ;;
              esac
              printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","who":"%s","in":"%s","server":"%s"}}\\n' \\
                "$id" "$WHO" "$(pwd)" $$
            done
            """;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final Map<String, String> servers = new LinkedHashMap<>();

    @BeforeEach
    void script() throws IOException {
        Files.writeString(folder.resolve("server.sh"), SCRIPT);
    }

    private String command(String who, String... more) {
        return "{'command': 'sh', 'args': ['" + folder.resolve("server.sh") + "'], 'env': {'WHO': '" + who + "'}"
                + Stream.of(more).map(member -> ", " + member).collect(Collectors.joining()) + "}";
    }

    private Path file() {
        return folder.resolve("servers.json");
    }

    private void write() throws IOException {
        write(servers.entrySet().stream()
                .map(server -> "'" + server.getKey() + "': " + server.getValue())
                .collect(Collectors.joining(",\n", "{'mcpServers': {\n", "\n}}\n")));
    }

    /** As an editor does, so that it is never there in part. */
    private void write(String text) throws IOException {
        Path fresh = folder.resolve("servers.json.new");
        Files.writeString(fresh, TestJson.of(text));
        Files.move(fresh, file(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** A gateway as a process of its own, whose log is in a file. */
    private final class Running implements AutoCloseable {
        private final GatewayProcess process;
        private final Path log;
        private final URI url;

        Running(int port, String... more) throws IOException {
            write();
            log = Files.createTempFile(folder, "gateway", ".log");
            List<String> words =
                    new ArrayList<>(List.of("serve", "--port", String.valueOf(port), "--config", file().toString()));
            words.addAll(List.of(more));
            ProcessBuilder builder =
                    GatewayProcess.builder(folder, List.of(), words).redirectError(log.toFile());
            builder.environment().put("WHO", "a secret of the gateway");
            process = new GatewayProcess(builder.start());
            String line = Wait.listening(process.process());
            url = URI.create(line.substring(line.indexOf("http")));
        }

        URI at(String name) {
            return url.resolve("/" + name + "/mcp");
        }

        HttpPeer peer(String name) {
            return HttpPeer.connected(at(name));
        }

        String log() {
            try {
                return Files.readString(log);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void logs(String text) {
            Wait.until("the log has: " + text, () -> log().contains(text));
        }

        String page(String path) {
            return new HttpPeer(url).get(path).body();
        }

        @Override
        public void close() {
            process.close();
            System.err.println(log());
        }
    }

    private static String said(String answer, String member) {
        return answer.replaceAll("(?s).*\"" + member + "\":\"([^\"]*)\".*", "$1");
    }

    private static HttpPeer of(Map<String, HttpPeer> peers, String name) {
        return Objects.requireNonNull(peers.get(name));
    }

    private static String who(HttpPeer peer) {
        return said(peer.call(9, "who"), "who");
    }

    private static int status(HttpPeer peer) {
        return peer.post("{'jsonrpc':'2.0','id':5,'method':'who'}").statusCode();
    }

    private List<String> tenServers(ScriptedUpstream upstream) {
        List<String> well = new ArrayList<>();
        for (int i = 1; i <= 7; i++) {
            well.add("s" + i);
            servers.put("s" + i, command("number " + i));
        }
        servers.put("s7", command("number 7", "'cwd': 'sub'"));
        servers.put("far", "{'url': '" + upstream.url() + "', 'headers': {'X-Key': '${NO_KEY:-k}'}}");
        servers.put("none", "{'command': 'no-such-command'}");
        servers.put("nowhere", command("x", "'cwd': 'no-such-folder'"));
        return well;
    }

    @Test
    void tenServersOfOneFileAreApartAndGoOnAfterKill9() throws IOException, InterruptedException {
        Files.createDirectory(folder.resolve("sub"));
        try (ScriptedUpstream upstream = new ScriptedUpstream()) {
            upstream.on("who", asked -> asked.result("far, with " + asked.header("X-Key")));
            List<String> well = tenServers(upstream);
            Map<String, HttpPeer> peers = new LinkedHashMap<>();
            int port = FreePort.next();
            try (Running gateway = new Running(port)) {
                well.forEach(name -> peers.put(name, gateway.peer(name)));
                well.forEach(name -> assertThat(who(of(peers, name))).isEqualTo("number " + name.substring(1)));
                assertThat(said(of(peers, "s7").call(2, "who"), "in")).endsWith("/sub");
                HttpPeer far = gateway.peer("far");
                assertThat(far.call(2, "who")).contains("far, with k");
                peers.put("far", far);

                // nothing of one server is another's
                assertThat(status(of(peers, "s1").at(gateway.at("s2")))).isEqualTo(404);
                assertThat(status(far.at(gateway.at("s2")))).isEqualTo(404);
                assertThat(of(peers, "s1").at(gateway.at("s3")).delete().statusCode())
                        .isEqualTo(404);
                assertThat(who(of(peers, "s1"))).isEqualTo("number 1");

                assertFailed(gateway, "none", "the command was not found: no-such-command");
                assertFailed(gateway, "nowhere", "the command has no folder no-such-folder to run in");
                assertThat(status(new HttpPeer(gateway.at("other")))).isEqualTo(404);
                assertThat(gateway.page("/healthz"))
                        .startsWith("{\"status\":\"degraded\",\"sessions\":8,\"servers\":8,\"failed\":2,");
                assertThat(gateway.page("/stats"))
                        .contains(
                                "\"s1\":{\"sessions\":1",
                                "\"far\":{",
                                "\"none\":{\"failed\":\"the command was not found");
                assertThat(gateway.page("/metrics"))
                        .contains("holdfast_sessions_opened_total{server=\"s3\"} 1.0")
                        .contains("holdfast_children{server=\"s4\"} 1.0")
                        .contains("jvm_memory_used_bytes");
                assertThat(endpoint(gateway.url.resolve("/s1/sse"))).startsWith("data: /s1/message?sessionId=");

                gateway.process.process().destroyForcibly();
                assertThat(gateway.process.exitCode(20)).isNotZero();
            }
            try (Running again = new Running(port)) {
                peers.forEach((name, peer) -> assertThat(peer.call(3, "who"))
                        .as(name)
                        .contains(name.equals("far") ? "far, with k" : "number " + name.substring(1)));
                assertThat(again.page("/stats")).contains("\"restored\":1");
            }
        }
    }

    private static void assertFailed(Running gateway, String name, String why) {
        HttpResponse<String> answer = new HttpPeer(gateway.at(name)).post(TestJson.INITIALIZE);
        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.body()).contains("the server " + name + " did not start: " + why);
        assertThat(gateway.log()).contains("server " + name + " is not served: " + why);
    }

    private static String endpoint(URI sse) throws IOException, InterruptedException {
        try (Stream<String> lines = Wait.until(new HttpPeer(sse).listened()).body()) {
            return lines.filter(line -> line.startsWith("data: ")).findFirst().orElse("");
        }
    }

    @Test
    void aChangeOfTheFileIsTakenWithoutARestart() throws IOException {
        servers.put("kept", command("kept"));
        servers.put("changed", command("old"));
        servers.put("gone", command("gone"));
        servers.put("bad", "{'command': 'no-such-command'}");
        servers.put("knob", command("knob", "'holdfast': {'heartbeat': '5s'}"));
        try (Running gateway = new Running(0)) {
            HttpPeer kept = gateway.peer("kept");
            HttpPeer changed = gateway.peer("changed");
            HttpPeer gone = gateway.peer("gone");
            HttpPeer knob = gateway.peer("knob");
            String child = said(changed.call(2, "who"), "server");
            String keptChild = said(kept.call(2, "who"), "server");
            CompletableFuture<HttpResponse<Stream<String>>> running = gone.posted(3, "slow");
            Stream<String> lines = Wait.until(running).body();

            write("{'mcpServers': {'kept': {'command':\n'sh', 'arg': []}}}");
            gateway.logs("servers.json, line 2, column 14: server kept: 'arg' is no member of a server");
            assertThat(who(changed)).isEqualTo("old");

            servers.put("changed", command("new"));
            servers.remove("gone");
            servers.put("bad", command("good"));
            servers.put("fresh", command("fresh"));
            servers.put("knob", command("knob", "'holdfast': {'heartbeat': '6s'}"));
            write();
            gateway.logs("server changed has changed");
            gateway.logs("server fresh is served at /fresh/mcp");
            gateway.logs("server bad is served at /bad/mcp");
            gateway.logs("server gone ends");

            assertThat(said(changed.call(4, "who"), "server")).isEqualTo(child);
            assertThat(who(changed)).isEqualTo("old");
            assertThat(who(gateway.peer("changed"))).isEqualTo("new");
            assertThat(said(kept.call(4, "who"), "server")).isEqualTo(keptChild);
            assertThat(who(gateway.peer("fresh"))).isEqualTo("fresh");
            assertThat(who(gateway.peer("bad"))).isEqualTo("good");
            assertThat(lines).anyMatch(line -> line.contains("\"id\":3,\"result\""));
            Wait.until("its path is gone", () -> status(gone) == 404);
            Wait.until("it was opened again", () -> status(knob) != 503);
            assertThat(who(knob)).isEqualTo("knob");
            assertThat(gateway.page("/metrics")).doesNotContain("server=\"gone\"");

            // a session whose child died has the new server
            ProcessHandle.of(Long.parseLong(child)).orElseThrow().destroyForcibly();
            Wait.until("its session has a fresh child", () -> who(changed).equals("new"));

            servers.put("changed", "{'command': 'no-such-command'}");
            write();
            gateway.logs("server changed stays as it was: the command was not found: no-such-command");
            assertThat(who(gateway.peer("changed"))).isEqualTo("new");
        }
    }

    @Test
    void aRequestWithoutASessionGetsTheNewServer() throws IOException {
        String knobs = "'holdfast': {'protocols': 'both'}";
        servers.put("s", command("old", knobs));
        try (Running gateway = new Running(0)) {
            HttpPeer modern = new HttpPeer(gateway.at("s"))
                    .with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "who");
            String call = "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'who','arguments':{},"
                    + "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                    + "'io.modelcontextprotocol/clientCapabilities':{}}}}";
            String before = modern.post(call).body();
            assertThat(said(before, "who")).isEqualTo("old");
            assertThat(said(modern.post(call).body(), "server")).isEqualTo(said(before, "server"));

            servers.put("s", command("new", knobs));
            write();
            gateway.logs("server s has changed");

            assertThat(said(modern.post(call).body(), "who")).isEqualTo("new");
        }
    }

    /** Calls one server again and again, each call to its answer; counts what it has got. */
    private static final class Caller implements Runnable {
        private final HttpPeer peer;
        private final AtomicBoolean over;
        private final ConcurrentLinkedQueue<String> lost;
        private final AtomicInteger answered;
        private final AtomicInteger refused;

        Caller(
                HttpPeer peer,
                AtomicBoolean over,
                ConcurrentLinkedQueue<String> lost,
                AtomicInteger answered,
                AtomicInteger refused) {
            this.peer = peer;
            this.over = over;
            this.lost = lost;
            this.answered = answered;
            this.refused = refused;
        }

        @Override
        public void run() {
            for (int id = 10; !over.get(); id++) {
                HttpResponse<String> response = peer.post("{'jsonrpc':'2.0','id':" + id + ",'method':'brief'}");
                // a server whose knobs have changed opens again; nothing of the call was done
                if (response.statusCode() == 503) {
                    refused.incrementAndGet();
                } else {
                    if (response.body().contains("\"id\":" + id + ",\"result\"")) {
                        answered.incrementAndGet();
                    } else {
                        lost.add(peer.url().getPath() + " " + response.statusCode() + " " + response.body());
                    }
                }
            }
        }
    }

    @Test
    void noCallIsLostByManyReloads() throws Exception {
        ConcurrentLinkedQueue<String> lost = new ConcurrentLinkedQueue<>();
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger answered = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ScriptedUpstream upstream = new ScriptedUpstream()) {
            upstream.on("brief", asked -> asked.result("far"));
            servers.put("same", command("same"));
            servers.put("command", command("0"));
            servers.put("knob", command("knob"));
            servers.put("far", "{'url': '" + upstream.url() + "'}");
            try (Running gateway = new Running(0, "--log-level", "warn")) {
                List<Future<?>> callers = new ArrayList<>();
                for (String name : List.of("same", "command", "knob", "far")) {
                    callers.add(threads.submit(new Caller(gateway.peer(name), over, lost, answered, refused)));
                }
                for (int i = 1; i <= RELOADS; i++) {
                    String now = String.valueOf(i);
                    servers.put("command", command(now));
                    servers.put("far", "{'url': '" + upstream.url() + "', 'headers': {'X-Key': '" + now + "'}}");
                    servers.put("knob", command("knob", "'holdfast': {'heartbeat': '" + (5 + i % 9) + "s'}"));
                    if (i % 2 == 0) {
                        servers.remove("passing");
                    } else {
                        servers.put("passing", command("passing"));
                    }
                    write();
                    Wait.until("a new session has the new command", () -> {
                        HttpPeer peer = gateway.peer("command");
                        boolean changed = who(peer).equals(now);
                        peer.delete();
                        return changed;
                    });
                }
                over.set(true);
                for (Future<?> caller : callers) {
                    caller.get();
                }
                assertThat(lost).isEmpty();
                assertThat(answered.get()).isGreaterThan(RELOADS);
                // a client may have its answer just before the call is over
                assertThat(refused.get()).isLessThanOrEqualTo(3 * RELOADS);
                System.out.println(
                        answered + " calls were answered while the file changed " + RELOADS + " times, and " + refused
                                + " were refused; threads: "
                                + gateway.process.status("Threads") + ", VmRSS kB: " + gateway.process.status("VmRSS"));
                Wait.until(
                        "a session of before has its process still",
                        () -> gateway.page("/metrics").contains("holdfast_children{server=\"command\"} 1.0"));
            }
        } finally {
            over.set(true);
            threads.shutdownNow();
        }
    }

    @Test
    void whoComesWhileAServerIsOpenedAnewWaitsForIt() throws IOException {
        servers.put("s", command("s", "'holdfast': {'drain-timeout': '5s'}"));
        try (Running gateway = new Running(0)) {
            HttpPeer idle = gateway.peer("s");
            String child = said(idle.call(2, "who"), "server");
            HttpPeer busy = gateway.peer("s");
            Stream<String> lines = Wait.until(busy.posted(3, "endless")).body();

            servers.put("s", command("s", "'holdfast': {'drain-timeout': '5s', 'heartbeat': '5s'}"));
            write();
            gateway.logs("draining: waits up to 5 s for 1 running calls");

            // might be an answer that the call waits for
            assertThat(status(idle)).isEqualTo(503);
            HttpPeer fresh = gateway.peer("s");
            assertThat(who(fresh)).isEqualTo("s");
            assertThat(lines).anyMatch(line -> line.contains("\"id\":3,\"error\""));
            assertThat(said(idle.call(4, "who"), "server")).isNotEqualTo(child);
            assertThat(who(busy)).isEqualTo("s");
            assertThat(count(gateway.log(), "server s is served at")).isEqualTo(2);
        }
    }

    @Test
    void aCallThatAsksHasItsAnswersFromAServerThatIsOpenedAnew() throws IOException {
        servers.put("s", command("s"));
        try (Running gateway = new Running(0)) {
            ModernPeer peer = new ModernPeer(gateway.at("s"), ModernPeer.ELICITS);
            String asked = peer.call("ask", "{}");
            servers.put("s", command("s", "'holdfast': {'heartbeat': '5s'}"));
            write();
            gateway.logs("draining: waits up to 20 s for 1 running calls");

            assertThat(peer.retry("ask", "{}", asked, "Ann")).contains("\"who\":\"s\"");
        }
    }

    /** What a server that is replaced, changed or gone must not leave behind. */
    private static final List<String> PARTS = List.of(
            "dev.holdfast.engine.SessionEngine",
            "dev.holdfast.servlet.McpEndpoint",
            "dev.holdfast.gateway.Service",
            "dev.holdfast.gateway.Services$Slot",
            "dev.holdfast.gateway.stdio.StdioBackend",
            "dev.holdfast.upstream.UpstreamBackend",
            "dev.holdfast.json.RepeatRules",
            "dev.holdfast.client.RemoteServer",
            "dev.holdfast.micrometer.HoldfastMetrics",
            "dev.holdfast.ByteBudget$Part",
            "dev.holdfast.rocksdb.RocksDbStore",
            "org.eclipse.jetty.ee11.servlet.ServletHolder",
            "org.eclipse.jetty.client.HttpClient",
            "io.micrometer.core.instrument.composite.CompositeMeterRegistry",
            "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask",
            "java.lang.Process",
            "java.lang.ProcessImpl");

    /** How many there are of each, once those that nobody holds on to are collected. */
    private static Map<String, Long> parts() {
        try {
            Object histogram = ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "gcClassHistogram",
                            new Object[] {new String[0]},
                            new String[] {String[].class.getName()});
            Map<String, Long> parts = new TreeMap<>();
            String.valueOf(histogram)
                    .lines()
                    .map(line -> List.of(line.trim().split("\\s+")))
                    .filter(words -> words.size() > 3 && PARTS.contains(words.get(3)))
                    .forEach(words -> parts.merge(words.get(3), Long.valueOf(words.get(1)), Long::sum));
            return parts;
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
    }

    private void change(TestGateway gateway, ScriptedUpstream upstream, int number) throws IOException {
        servers.put("command", command(String.valueOf(number)));
        servers.put("knob", command("knob", "'holdfast': {'heartbeat': '" + (number + 5) + "s'}"));
        servers.put("far", "{'url': '" + upstream.url() + "?" + number + "', 'headers': {'X-Key': '" + number + "'}}");
        servers.put("passing-" + number, command("passing"));
        servers.remove("passing-" + (number - 1));
        write();
        URI url = gateway.url();
        Wait.until(
                "the one before is gone",
                () -> status(new HttpPeer(url.resolve("/passing-" + (number - 1) + "/mcp"))) == 404);
        for (String name : List.of("command", "knob", "far", "passing-" + number)) {
            Wait.until("it is there", () -> status(new HttpPeer(url.resolve("/" + name + "/mcp"))) != 404);
            HttpPeer peer = HttpPeer.connectedAtLast(url.resolve("/" + name + "/mcp"));
            assertThat(peer.call(2, "who")).contains("result");
            peer.delete();
        }
    }

    @Test
    void whatIsReplacedLeavesNothingBehind() throws IOException {
        try (ScriptedUpstream upstream = new ScriptedUpstream()) {
            upstream.on("who", asked -> asked.result("far, with " + asked.header("X-Key")));
            servers.put("same", command("same"));
            write();
            try (TestGateway gateway =
                    TestGateway.demo("--config", file().toString(), "--store", "rocksdb:" + folder.resolve("store"))) {
                HttpPeer same = HttpPeer.connectedAtLast(gateway.url().resolve("/same/mcp"));
                for (int number = 1; number <= 4; number++) {
                    change(gateway, upstream, number);
                }
                Map<String, Long> before = parts();
                int threads = Thread.activeCount();
                for (int number = 5; number <= 4 + LEAVING; number++) {
                    change(gateway, upstream, number);
                }

                System.out.println("before: " + before + ", after: " + parts());
                // a budget forgets the parts that are collected when it gets others
                change(gateway, upstream, 5 + LEAVING);
                Wait.until(
                        "nothing is left of those before",
                        () -> parts().entrySet().stream()
                                .allMatch(part ->
                                        part.getValue() <= before.getOrDefault(part.getKey(), 0L) * 3 / 2 + FEW));
                Wait.until("nor threads", () -> Thread.activeCount() <= threads + FEW);
                assertThat(who(same)).isEqualTo("same");
            }
        }
    }

    @Test
    void aHangupReadsTheFileAgainAndTheAccessLogNamesTheServers() throws IOException, InterruptedException {
        Path program = folder.resolve("program");
        servers.put("late", "{'command': '" + program + "', 'args': ['" + folder.resolve("server.sh") + "']}");
        servers.put("there", command("there"));
        try (Running gateway = new Running(0, "--access-log", "calls")) {
            assertThat(status(new HttpPeer(gateway.at("late")))).isEqualTo(503);
            Files.createSymbolicLink(program, Path.of("/bin/sh"));

            new ProcessBuilder(
                            "kill",
                            "-HUP",
                            String.valueOf(gateway.process.process().pid()))
                    .start()
                    .waitFor();

            gateway.logs("is read again, and taken");
            gateway.logs("server late is served at /late/mcp");
            HttpPeer peer = gateway.peer("late");
            peer.call(2, "who");
            peer.delete();
            String name = "access: session " + peer.session().substring(0, 8);
            gateway.logs(name + ": ended reason=terminated");
            assertThat(gateway.log().lines().filter(line -> line.contains(name)))
                    .hasSizeGreaterThan(2)
                    .allMatch(line -> line.contains("principal=\"\" server=\"late\""));
        }
    }

    private static int count(String text, String part) {
        return text.split(Pattern.quote(part), -1).length - 1;
    }

    @Test
    void whatCouldNotStartIsTriedAgainAndWhatCannotStartReplacesNothing() throws IOException {
        Path program = folder.resolve("program");
        servers.put("late", "{'command': '" + program + "', 'args': ['" + folder.resolve("server.sh") + "']}");
        try (Running gateway = new Running(0)) {
            assertFailed(gateway, "late", "the command was not found: " + program);
            assertThat(new HttpPeer(gateway.url).get("/healthz").statusCode()).isEqualTo(503);

            Files.createSymbolicLink(program, Path.of("/bin/sh"));
            gateway.logs("server late is served at /late/mcp");
            assertThat(new HttpPeer(gateway.url).get("/healthz").statusCode()).isEqualTo(200);
            assertThat(count(gateway.log(), "server late is not served")).isOne();
            HttpPeer peer = gateway.peer("late");
            String answer = peer.call(2, "who");
            // of the environment of the gateway it has nothing that it was not given
            assertThat(said(answer, "who")).isEmpty();

            servers.put("late", "{'command': 'no-such-command', 'holdfast': {'heartbeat': '5s'}}");
            write();
            gateway.logs("server late stays as it was: the command was not found: no-such-command");
            assertThat(gateway.page("/stats"))
                    .containsPattern("\"sessions\":1,.*\"failed\":\"the command was not found: no-such-command\"");
            assertThat(said(peer.call(3, "who"), "server")).isEqualTo(said(answer, "server"));
            assertThat(gateway.log()).doesNotContain("server late ends");
        }
    }

    @Test
    void aServerThatCannotStartWithOtherKnobsStaysAsItWas() throws IOException {
        Path taken = folder.resolve("taken");
        servers.put("s", command("s"));
        try (RedisServer redis = RedisServer.start();
                RocksDbStore other = RocksDbStore.builder(taken.resolve("s")).open();
                Running gateway = new Running(0)) {
            HttpPeer peer = gateway.peer("s");
            String child = said(peer.call(2, "who"), "server");
            redis.kill();

            Map<String, String> stores = Map.of(
                    "rocksdb:" + taken,
                    "the session store in " + taken.resolve("s") + " is in use",
                    redis.url(),
                    redis.url() + " cannot be used");
            for (Map.Entry<String, String> store : stores.entrySet()) {
                servers.put("s", command("s", "'holdfast': {'store': '" + store.getKey() + "'}"));
                write();
                gateway.logs("server s stays as it was: " + store.getValue());
                assertThat(said(peer.call(3, "who"), "server")).isEqualTo(child);
                assertThat(gateway.page("/healthz"))
                        .startsWith("{\"status\":\"degraded\",\"sessions\":1,\"servers\":1,\"failed\":1,");
            }
            assertThat(gateway.log()).doesNotContain("server s ends");

            servers.put("s", command("s", "'holdfast': {'heartbeat': '6s'}"));
            write();
            gateway.logs("server s ends");
            Wait.until("it was opened again, with its sessions", () -> status(peer) != 503);
            assertThat(who(peer)).isEqualTo("s");
            assertThat(gateway.page("/healthz")).startsWith("{\"status\":\"ok\",");
            assertThat(other.usage().trouble()).isEmpty();
        }
    }

    @Test
    void serversWaitForNoRedisAndAreThereSoonAfterIt() throws IOException {
        servers.put("s", command("s"));
        servers.put("own", command("own", "'holdfast': {'store': 'memory'}"));
        try (RedisServer redis = RedisServer.start()) {
            redis.kill();
            try (Running gateway = new Running(0, "--store", redis.url())) {
                assertFailed(gateway, "s", redis.url() + " cannot be used");
                assertThat(who(gateway.peer("own"))).isEqualTo("own");
                assertThat(gateway.log()).doesNotContain("waiting");

                redis.startAgain();

                gateway.logs("server s is served at /s/mcp");
                assertThat(who(gateway.peer("s"))).isEqualTo("s");
            }
        }
    }

    @Test
    void theEndKeepsToTheTimeOfEachServerAndBeginsNoneAnew() throws IOException, InterruptedException {
        servers.put("changes", command("changes", "'holdfast': {'drain-timeout': '6s'}"));
        servers.put("hasty", command("hasty", "'holdfast': {'drain-timeout': '1s'}"));
        try (Running gateway = new Running(0, "--drain-timeout", "5m")) {
            Wait.until(gateway.peer("changes").posted(3, "endless"));
            Wait.until(gateway.peer("hasty").posted(3, "endless"));
            servers.put("changes", command("changes", "'holdfast': {'drain-timeout': '6s', 'heartbeat': '5s'}"));
            write();
            gateway.logs("server changes ends");

            gateway.process.process().destroy();

            assertThat(gateway.process.exitCode(40)).isZero();
            assertThat(count(gateway.log(), "server changes is served at")).isOne();
        }
    }

    @Test
    void knobsThatHoldAlreadyLeaveAServerAloneAndItsEndKeepsToTheTimeOfThen() throws IOException {
        servers.put("s", command("s"));
        try (Running gateway = new Running(0)) {
            HttpPeer peer = gateway.peer("s");
            String child = said(peer.call(2, "who"), "server");
            for (String knobs : List.of("'heartbeat': '15s', 'no-sse': false", "'drain-timeout': '1s'")) {
                servers.put("s", command("s", "'holdfast': {" + knobs + "}"));
                String taken = "taken-" + servers.size();
                servers.put(taken, command(taken));
                write();
                gateway.logs("server " + taken + " is served at");
                assertThat(said(peer.call(3, "who"), "server")).isEqualTo(child);
            }
            Wait.until(peer.posted(4, "endless"));
            assertThat(gateway.log()).doesNotContain("server s ends");

            servers.remove("s");
            write();

            gateway.logs("server s ends");
            gateway.logs("draining: waits up to 1 s for 1 running calls");
        }
    }

    @Test
    void othersAreNotToldOfTheMachineWhyAServerDidNotStart() throws IOException {
        servers.put("none", "{'command': '/no/such/command'}");
        servers.put("told", "{'command': '/no/such/command', 'holdfast': {'show-child-errors': true}}");
        write();
        String host = OutsideAddress.find()
                .orElseThrow(() -> new AssertionError("this machine has no other address than loopback"));
        try (TestGateway gateway = TestGateway.demo("--config", file().toString(), "--host", host, "--insecure")) {
            HttpPeer peer = new HttpPeer(gateway.url().resolve("/none/mcp"));

            assertThat(peer.post(TestJson.INITIALIZE).body())
                    .contains("the server none did not start: the log of the gateway says why");
            assertThat(peer.at(gateway.url().resolve("/told/mcp"))
                            .post(TestJson.INITIALIZE)
                            .body())
                    .contains("the server told did not start: the command was not found: /no/such/command");
            assertThat(peer.get("/stats").body()).contains("\"none\":{\"failed\":\"the log of the gateway says why\"}");
        }
    }

    @Test
    void inRedisEachServerHasAPrefixOfItsOwn() throws IOException {
        servers.put("a", command("a"));
        servers.put("b", command("b"));
        write();
        try (RedisServer redis = RedisServer.start();
                TestGateway gateway = TestGateway.demo("--config", file().toString(), "--store", redis.url())) {
            HttpPeer peer = HttpPeer.connected(gateway.url().resolve("/a/mcp"));

            assertThat(who(peer)).isEqualTo("a");
            assertThat(status(peer.at(gateway.url().resolve("/b/mcp")))).isEqualTo(404);
            assertThat(redis.command("EVAL", "return #redis.call('KEYS', 'holdfast:a:{*}')", "0"))
                    .isNotEqualTo("0");
            assertThat(redis.command(
                            "EVAL",
                            "return #redis.call('KEYS', 'holdfast:b:{???????????????????????????????????????????}')",
                            "0"))
                    .isEqualTo("0");
        }
    }

    @Test
    void aServerMayHaveAStoreOfItsOwn() throws IOException, InterruptedException {
        Path own = folder.resolve("own");
        servers.put("all", command("all"));
        servers.put("own", command("own", "'holdfast': {'store': 'rocksdb:" + own + "'}"));
        servers.put("none", command("none", "'holdfast': {'store': 'memory'}"));
        Map<String, HttpPeer> peers = new LinkedHashMap<>();
        String[] words = {"--store", "rocksdb:" + folder.resolve("data"), "--store-sync", "--park-after", "1h"};
        int port = FreePort.next();
        try (Running gateway = new Running(port, words)) {
            servers.keySet().forEach(name -> peers.put(name, gateway.peer(name)));
            peers.forEach((name, peer) -> assertThat(who(peer)).isEqualTo(name));
            assertThat(own.resolve("own")).isDirectory();
            gateway.process.process().destroyForcibly();
            assertThat(gateway.process.exitCode(20)).isNotZero();
        }
        try (Running again = new Running(port, words)) {
            assertThat(again.url.getPort()).isEqualTo(port);
            assertThat(who(of(peers, "all"))).isEqualTo("all");
            assertThat(who(of(peers, "own"))).isEqualTo("own");
            assertThat(status(of(peers, "none"))).isEqualTo(404);
        }
    }

    @Test
    void eachServerKeepsTheSessionsOfTwoPrincipalsApart() throws IOException {
        Path tokens = Files.writeString(
                folder.resolve("tokens"), "alice " + "a".repeat(48) + "\nbob " + "b".repeat(48) + "\n");
        Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
        servers.put("a", command("a"));
        servers.put("b", command("b"));
        write();
        try (TestGateway gateway = TestGateway.demo(
                "--config", file().toString(), "--store", "memory", "--auth-token-file", tokens.toString())) {
            URI a = gateway.url().resolve("/a/mcp");
            URI b = gateway.url().resolve("/b/mcp");
            HttpPeer alice = HttpPeer.connected(a, ALICE);
            HttpPeer bob = HttpPeer.connected(b, BOB);

            assertThat(who(alice)).isEqualTo("a");
            assertThat(who(bob)).isEqualTo("b");
            for (HttpPeer stranger :
                    List.of(alice.with(BOB), alice.at(b), alice.with(BOB).at(b), bob.with(ALICE), bob.at(a))) {
                assertThat(status(stranger)).isEqualTo(404);
                assertThat(stranger.delete().statusCode()).isEqualTo(404);
            }
            assertThat(who(alice)).isEqualTo("a");
            assertThat(who(bob)).isEqualTo("b");
        }
    }

    @Test
    void theServersShareTheChildrenOfTheMachine() throws IOException {
        servers.put("a", command("a"));
        servers.put("b", command("b", "'holdfast': {'max-children': 1}"));
        write();
        try (TestGateway gateway = TestGateway.demo("--config", file().toString(), "--max-children", "3")) {
            URI a = gateway.url().resolve("/a/mcp");
            URI b = gateway.url().resolve("/b/mcp");
            List<HttpPeer> peers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                peers.add(HttpPeer.connectedAtLast(a));
                assertThat(who(peers.get(i))).isEqualTo("a");
            }

            HttpPeer other = HttpPeer.connectedAtLast(b);
            assertThat(who(other)).isEqualTo("b");
            for (HttpPeer peer : peers) {
                assertThat(who(peer)).isEqualTo("a");
            }
            assertThat(who(other)).isEqualTo("b");
        }
    }
}
