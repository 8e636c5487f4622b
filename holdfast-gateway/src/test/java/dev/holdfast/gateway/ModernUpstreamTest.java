package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.held.HeldSession;
import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.gateway.ScriptedUpstream.Asked;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A gateway for clients with sessions, in front of an upstream that speaks 2026-07-28 only, and makes tasks of calls. */
@Timeout(120)
class ModernUpstreamTest {
    private static final String CALL =
            "{'jsonrpc':'2.0','id':2,'method':'tools/call','params':{'name':'work','arguments':{'n':1}}}";

    private static final String ASKS =
            "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':'2025-06-18','capabilities':"
                    + "{'elicitation':{}},'clientInfo':{'name':'legacy','version':'7'}}}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<GatewayProcess> started = new ArrayList<>();
    private ScriptedUpstream upstream = new ScriptedUpstream();
    private volatile String state = "'status':'working'";

    @BeforeEach
    void script() {
        script(upstream);
    }

    private void script(ScriptedUpstream server) {
        server.on("initialize", asked -> refused(asked, 400, -32022))
                .on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'instructions':'be kind','capabilities':{'tools':{}},"
                                        + "'_meta':{'io.modelcontextprotocol/serverInfo':{'name':'modern','version':'1'}}"))
                .on("tools/list", asked -> complete(asked, "'tools':[]"))
                .on("tools/call", asked -> answered(asked, "'resultType':'task'," + task("'status':'working'")))
                .on("tasks/get", asked -> complete(asked, task(state)))
                .on("tasks/update", asked -> {
                    complete(asked, "'ok':true");
                    state = "'status':'completed','result':{'content':[{'type':'text','text':'answered'}]}";
                })
                .on("tasks/cancel", asked -> complete(asked, "'ok':true"));
    }

    @AfterEach
    void end() {
        started.forEach(GatewayProcess::close);
        upstream.close();
    }

    private static String task(String state) {
        return "'taskId':'t-1','createdAt':'2026-11-29T00:00:00Z','lastUpdatedAt':'2026-11-29T00:00:00Z','ttlMs':null,"
                + "'pollIntervalMs':50," + state;
    }

    private static void answered(Asked asked, String result) throws IOException {
        asked.json("{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{" + result + "}}");
    }

    private static void complete(Asked asked, String result) throws IOException {
        answered(asked, "'resultType':'complete'," + result);
    }

    private static void refused(Asked asked, int status, int code) throws IOException {
        byte[] body = TestJson.of("{'jsonrpc':'2.0','id':" + asked.id() + ",'error':{'code':" + code
                        + ",'message':'this server speaks 2026-07-28','data':{'supported':['2026-07-28']}}}")
                .getBytes(UTF_8);
        asked.exchange().getResponseHeaders().set("Content-Type", "application/json");
        asked.exchange().sendResponseHeaders(status, body.length);
        asked.exchange().getResponseBody().write(body);
        asked.exchange().close();
    }

    private GatewayProcess gateway(String... more) throws IOException {
        List<String> serve =
                List.of("serve", "--port", "0", "--upstream", upstream.url().toString());
        GatewayProcess gateway = GatewayProcess.start(
                folder, Stream.concat(serve.stream(), Stream.of(more)).toList());
        started.add(gateway);
        return gateway;
    }

    private void awaitLooks() {
        int before = upstream.asked("tasks/get").size();
        Wait.until("the task is looked at", () -> upstream.asked("tasks/get").size() > before + 1);
    }

    /** What follows the name of a field in the next line that begins with it and has this in it. */
    private static String next(Iterator<String> lines, String field, String wanted) {
        while (true) {
            String line = lines.next();
            if (line.startsWith(field + ":") && line.contains(wanted)) {
                return line.substring(field.length() + 1).strip();
            }
        }
    }

    @Test
    void theSessionIsTheGatewaysOwnAndEachRequestStandsAlone() throws Exception {
        upstream.on(
                "tools/call",
                asked -> complete(asked, "'content':[{'type':'text','text':'" + asked.header("Mcp-Name") + "'}]"));
        URI url = gateway().url();
        assertThat(new HttpPeer(url).post(ASKS).body())
                .contains(
                        "\"protocolVersion\":\"2025-06-18\"",
                        "\"serverInfo\":{\"name\":\"modern\",\"version\":\"1\"}",
                        "\"instructions\":\"be kind\"");

        HttpPeer connected = HttpPeer.introduced(url, ASKS);
        assertThat(connected.post(CALL).body()).contains("\"text\":\"work\"");
        assertThat(connected.call(3, "ping")).contains("\"result\":{}");
        assertThat(connected.delete().statusCode()).isEqualTo(200);

        assertThat(upstream.asked)
                .extracting(Asked::what)
                .containsExactly("initialize", "server/discover", "initialize", "server/discover", "tools/call");
        Asked call = upstream.asked("tools/call").get(0);
        assertThat(call.header("MCP-Protocol-Version")).isEqualTo("2026-07-28");
        assertThat(call.header("Mcp-Method")).isEqualTo("tools/call");
        assertThat(call.header("Mcp-Session-Id")).isEmpty();
        assertThat(call.body())
                .contains(
                        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"",
                        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"legacy\",\"version\":\"7\"}",
                        "\"elicitation\":{}",
                        "\"io.modelcontextprotocol/tasks\":{}");
    }

    @Test
    void aLegacyUpstreamIsAskedNothingMore() throws Exception {
        upstream.on("initialize", upstream::welcome);
        HttpPeer peer = HttpPeer.connected(gateway().url());
        peer.call(2, "ping");

        assertThat(upstream.asked)
                .extracting(Asked::what)
                .containsOnly("initialize", "notifications/initialized", "GET", "ping");
        assertThat(upstream.asked("ping").get(0).header("Mcp-Method")).isEmpty();
    }

    @Test
    void anUpstreamThatRefusesTheClientIsNoneOfTheNewRevision() throws Exception {
        upstream.on("initialize", asked -> refused(asked, 400, -32602))
                .on("server/discover", asked -> refused(asked, 400, -32601));

        assertThat(new HttpPeer(gateway().url()).post(ASKS).body()).contains("status 400");
        assertThat(upstream.asked("server/discover")).isNotEmpty();
    }

    @Test
    void aTaskIsLookedAtByEachGatewayThatComesAfterOneThatWasKilled() throws Exception {
        GatewayProcess gateway = gateway();
        HttpPeer peer = HttpPeer.connected(gateway.url());
        String id;
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            id = next(lines.iterator(), "id", "");
            awaitLooks();
            gateway.process().destroyForcibly().waitFor();
        }
        // more often than a call is run again that a gateway may have died of
        for (int i = 0; i < 2; i++) {
            gateway = gateway();
            // brings the session back
            peer.at(gateway.url()).call(10 + i, "ping");
            awaitLooks();
            gateway.process().destroyForcibly().waitFor();
        }
        state = "'status':'completed','result':{'content':[{'type':'text','text':'written'}]}";

        gateway = gateway();
        try (Stream<String> rest =
                Wait.until(peer.at(gateway.url()).resumed(id)).body()) {
            assertThat(next(rest.iterator(), "data", "\"id\":2")).contains("\"text\":\"written\"");
        }
        assertThat(upstream.asked("tools/call")).hasSize(1);
    }

    /** Kills a gateway with a task while the server is away, and returns where the next one is, which has looked for the server. */
    private URI restartedWithoutServer(HttpPeer peer, GatewayProcess gateway) throws Exception {
        upstream.close();
        gateway.process().destroyForcibly().waitFor();
        URI next = gateway("--start-timeout", "1s").url();
        for (int i = 0; i < 3; i++) {
            assertThat(peer.at(next).call(10 + i, "ping")).contains("did not answer initialize");
        }
        return next;
    }

    /** The server is there again, at the same place. */
    private void serverIsBack() {
        upstream = new ScriptedUpstream(upstream.url().getPort());
        script();
    }

    @Test
    void aTaskIsGoneOnWithThoughTheServerIsAwayWhenTheGatewayComesBack() throws Exception {
        GatewayProcess gateway = gateway();
        HttpPeer peer = HttpPeer.connected(gateway.url());
        String id;
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            id = next(lines.iterator(), "id", "");
            awaitLooks();
            peer = peer.at(restartedWithoutServer(peer, gateway));
        }
        state = "'status':'completed','result':{'content':[{'type':'text','text':'written'}]}";
        serverIsBack();

        try (Stream<String> rest = Wait.until(peer.resumed(id)).body()) {
            assertThat(next(rest.iterator(), "data", "\"id\":2")).contains("\"text\":\"written\"");
        }
        assertThat(upstream.asked("tools/call")).isEmpty();
    }

    @Test
    void aTaskThatIsCancelledWhileTheServerIsAwayIsCancelledWhenItIsBack() throws Exception {
        GatewayProcess gateway = gateway();
        HttpPeer peer = HttpPeer.connected(gateway.url());
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            next(lines.iterator(), "id", "");
            awaitLooks();
            peer = peer.at(restartedWithoutServer(peer, gateway));
        }
        peer.post("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':2}}");
        serverIsBack();

        Wait.until(
                "the task is cancelled", () -> !upstream.asked("tasks/cancel").isEmpty());
        assertThat(peer.call(20, "ping")).contains("\"result\":{}");
        assertThat(upstream.asked("tasks/cancel"))
                .singleElement()
                .satisfies(cancelled -> assertThat(cancelled.header("Mcp-Name")).isEqualTo("t-1"));
    }

    @Test
    void aTaskAsksTheClientAndIsAnswered() throws Exception {
        state =
                "'status':'input_required','inputRequests':{'k':{'method':'elicitation/create','params':{'message':'who?'}}}";
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            Iterator<String> stream = lines.iterator();
            String id = question(stream);
            awaitLooks();
            peer.post("{'jsonrpc':'2.0','id':" + id + ",'result':{'action':'decline'}}");

            String rest = next(stream, "data", "");
            assertThat(rest).as("it was asked once").contains("\"text\":\"answered\"");
        }
        assertThat(upstream.asked("tasks/update"))
                .singleElement()
                .satisfies(update -> assertThat(update.body())
                        .contains("\"inputResponses\":{\"k\":{\"action\":\"decline\"}}", "\"taskId\":\"t-1\""));
    }

    @Test
    void whatATaskHasAskedIsAskedAgainByTheGatewayThatComesAfterOneThatWasKilled() throws Exception {
        state =
                "'status':'input_required','inputRequests':{'k':{'method':'elicitation/create','params':{'message':'who?'}}}";
        GatewayProcess gateway = gateway();
        HttpPeer peer = HttpPeer.introduced(gateway.url(), ASKS);
        String id;
        String first;
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            Iterator<String> stream = lines.iterator();
            id = next(stream, "id", "");
            first = question(stream);
            awaitLooks();
            gateway.process().destroyForcibly().waitFor();
        }
        gateway = gateway();
        HttpPeer again = peer.at(gateway.url());
        again.call(10, "ping");
        try (Stream<String> lines = Wait.until(again.resumed(id)).body()) {
            Iterator<String> stream = lines.iterator();
            String second = question(stream);
            while (second.equals(first)) {
                // what was asked before is told again, and withdrawn
                second = question(stream);
            }
            again.post("{'jsonrpc':'2.0','id':" + second + ",'result':{'action':'decline'}}");
            assertThat(next(stream, "data", "\"id\":2")).contains("\"text\":\"answered\"");
        }
    }

    /** The id of the next question. */
    private static String question(Iterator<String> stream) {
        Matcher id = Pattern.compile("\"id\":(\"[^\"]+\")").matcher(next(stream, "data", "elicitation/create"));
        assertThat(id.find()).isTrue();
        return id.group(1);
    }

    @Test
    void aClientThatCancelsCancelsTheTask() throws Exception {
        HttpPeer peer = HttpPeer.connected(gateway().url());
        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            awaitLooks();
            peer.post("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':2}}");
            Wait.until(
                    "the task is cancelled",
                    () -> !upstream.asked("tasks/cancel").isEmpty());
            assertThat(lines).noneMatch(line -> line.contains("\"id\":2"));
        }
        assertThat(upstream.asked("tasks/cancel").get(0).header("Mcp-Name")).isEqualTo("t-1");
    }

    @Test
    void theEndOfASessionCancelsItsTasks() throws Exception {
        HttpPeer peer = HttpPeer.connected(gateway().url());
        CompletableFuture<HttpResponse<Stream<String>>> waiting = peer.posted(CALL);
        awaitLooks();

        assertThat(peer.delete().statusCode()).isEqualTo(200);

        Wait.until(
                "the task is cancelled", () -> !upstream.asked("tasks/cancel").isEmpty());
        assertThat(upstream.asked("tasks/cancel").get(0).header("Mcp-Name")).isEqualTo("t-1");
        waiting.cancel(true);
    }

    @Test
    void aGatewayThatEndsInOrderLeavesTheTasksOfItsSessionsToTheNext() throws Exception {
        GatewayProcess gateway = gateway();
        HttpPeer peer = HttpPeer.connected(gateway.url());
        CompletableFuture<HttpResponse<Stream<String>>> waiting = peer.posted(CALL);
        awaitLooks();

        gateway.process().destroy();
        gateway.process().waitFor();

        assertThat(upstream.asked("tasks/cancel")).isEmpty();
        waiting.cancel(true);
    }

    @Test
    void aGatewayThatKeepsNothingCancelsTheTasksOfItsSessionsAtItsEnd() throws Exception {
        GatewayProcess gateway = gateway("--store", "memory", "--drain-timeout", "100ms");
        HttpPeer peer = HttpPeer.connected(gateway.url());
        CompletableFuture<HttpResponse<Stream<String>>> waiting = peer.posted(CALL);
        awaitLooks();

        gateway.process().destroy();
        gateway.process().waitFor();

        assertThat(upstream.asked("tasks/cancel")).hasSize(1);
        waiting.cancel(true);
    }

    @Test
    void aTaskThatFailsOrIsForgottenEndsItsCall() throws Exception {
        HttpPeer peer = HttpPeer.connected(gateway().url());
        state = "'status':'failed','error':{'code':-32099,'message':'out of order'}";
        assertThat(peer.post(CALL).body()).contains("\"code\":-32099", "out of order");

        upstream.on("tasks/get", asked -> refused(asked, 400, -32602));
        assertThat(peer.post(CALL).body())
                .contains("it is not known whether the upstream has executed the request")
                .contains("does not know its task any more");
    }

    @Test
    void whatARequestNeedsIsAskedAndSentWithIt() throws Exception {
        upstream.on("tools/call", asked -> {
            if (asked.body().contains("\"requestState\":\"s-1\"")) {
                complete(asked, "'content':[{'type':'text','text':'thanks'}]");
            } else {
                answered(
                        asked,
                        "'resultType':'input_required','requestState':'s-1','inputRequests':{'k':{'method':"
                                + "'elicitation/create','params':{'message':'who?'}}}");
            }
        });
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);
        for (boolean answered : new boolean[] {true, false}) {
            try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
                Iterator<String> stream = lines.iterator();
                peer.post("{'jsonrpc':'2.0','id':" + question(stream)
                        + (answered
                                ? ",'result':{'action':'accept','content':{'w':'Ann'}}}"
                                : ",'error':{'code':-1,'message':'not now'}}"));
                assertThat(next(stream, "data", "\"id\":2")).contains(answered ? "thanks" : "not now");
            }
        }
        List<Asked> calls = upstream.asked("tools/call");
        assertThat(calls).hasSize(3);
        assertThat(calls.get(1).body())
                .contains("\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"w\":\"Ann\"}}}", "\"n\":1");
        assertThat(calls.get(1).id()).isNotEqualTo(calls.get(0).id());
    }

    @Test
    void aServerThatTellsOfNoChangesSaysSoAndTheSessionGoesOn() throws Exception {
        upstream.on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'capabilities':{'tools':{'listChanged':true},"
                                        + "'resources':{'subscribe':true}}"))
                .on("subscriptions/listen", asked -> asked.status(405))
                .on("tools/call", asked -> complete(asked, "'content':[]"));
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);

        assertThat(peer.post("{'jsonrpc':'2.0','id':5,'method':'resources/subscribe','params':{'uri':'a://b'}}")
                        .body())
                .contains("\"id\":5", "\"error\"");
        assertThat(peer.post(CALL).body()).contains("\"content\":[]");
    }

    @Test
    void aServerThatNeitherAsksNorAnswersIsNotAskedWithoutEnd() throws Exception {
        upstream.on("tools/call", asked -> answered(asked, "'resultType':'input_required','requestState':'s'"));
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);
        long began = System.nanoTime();

        CompletableFuture<HttpResponse<Stream<String>>> waiting = peer.posted(CALL);
        Wait.until("it was asked again", () -> upstream.asked("tools/call").size() == 3);

        assertThat(System.nanoTime() - began).as("later and later").isGreaterThan(TimeUnit.MILLISECONDS.toNanos(2_900));
        waiting.cancel(true);

        upstream.on("tools/call", asked -> answered(asked, "'resultType':'input_required'"));
        assertThat(peer.post(CALL).body()).contains("wants input and does not say which");
    }

    /** That a look was not executed does not say so of the call. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatBecomesOfATaskThatMayNotBeLookedAtIsNotKnown(boolean withError) throws Exception {
        upstream.on("tasks/get", asked -> {
            asked.exchange().getResponseHeaders().set("WWW-Authenticate", "Bearer scope=\"tasks\"");
            if (withError) {
                refused(asked, 403, -32001);
            } else {
                asked.status(403);
            }
        });

        assertThat(HttpPeer.introduced(gateway().url(), ASKS).post(CALL).body())
                .contains("it is not known whether the upstream has executed the request")
                .contains("HTTP status 403" + (withError ? ": {" : ", Bearer"), "Bearer scope=\\\"tasks\\\"");
    }

    private Path serving(ScriptedUpstream server) throws IOException {
        Path fresh = Files.writeString(
                folder.resolve("fresh"), TestJson.of("{'mcpServers':{'s':{'url':'" + server.url() + "'}}}"));
        return Files.move(fresh, folder.resolve("servers.json"), StandardCopyOption.ATOMIC_MOVE);
    }

    private void move(URI url, ScriptedUpstream next) throws IOException {
        serving(next);
        Wait.until("sessions begin at the next one", () -> {
            HttpPeer.connected(url).delete();
            return !next.asked("server/discover").isEmpty();
        });
    }

    @Test
    void aCallThatItsServerHasReadRunsNowhereElseThoughThatRefusesItOnceItHasMoved() throws Exception {
        CountDownLatch moved = new CountDownLatch(1);
        upstream.on("tools/call", asked -> {
            Wait.until(moved);
            refused(asked, 403, -32001);
        });
        try (ScriptedUpstream next = new ScriptedUpstream();
                TestGateway gateway =
                        TestGateway.demo("--config", serving(upstream).toString())) {
            script(next);
            next.on("tools/call", asked -> complete(asked, "'content':[]"));
            URI url = gateway.url().resolve("/s/mcp");
            CompletableFuture<HttpResponse<Stream<String>>> called =
                    HttpPeer.introduced(url, ASKS).posted(CALL);
            Wait.until("it is called", () -> !upstream.asked("tools/call").isEmpty());
            move(url, next);
            moved.countDown();

            assertThat(Wait.until(called).body()).anyMatch(line -> line.contains("this server speaks 2026-07-28"));
            assertThat(next.asked("tools/call")).isEmpty();
        } finally {
            moved.countDown();
        }
    }

    @Test
    void aServerThatHasMovedAndTellsOfNoChangesKeepsItsSessions() throws Exception {
        CountDownLatch moved = new CountDownLatch(1);
        upstream.on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'capabilities':{'resources':{'subscribe':true}}"))
                .on("subscriptions/listen", asked -> refused(asked, 404, -32601))
                .on("tools/call", asked -> {
                    Wait.until(moved);
                    complete(asked, "'content':[{'type':'text','text':'from where it was'}]");
                });
        try (ScriptedUpstream next = new ScriptedUpstream();
                TestGateway gateway =
                        TestGateway.demo("--config", serving(upstream).toString())) {
            script(next);
            URI url = gateway.url().resolve("/s/mcp");
            HttpPeer peer = HttpPeer.introduced(url, ASKS);
            CompletableFuture<HttpResponse<Stream<String>>> called = peer.posted(CALL);
            Wait.until("it is called", () -> !upstream.asked("tools/call").isEmpty());
            move(url, next);

            assertThat(peer.post("{'jsonrpc':'2.0','id':3,'method':'resources/subscribe','params':{'uri':'a://b'}}")
                            .body())
                    .contains("-32601");
            moved.countDown();

            assertThat(Wait.until(called).body()).anyMatch(line -> line.contains("from where it was"));
            assertThat(peer.post(CALL.replace("'id':2", "'id':4")).body()).contains("from where it was");
        } finally {
            moved.countDown();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatWasBegunRunsNowhereElseThoughItsServerRefusesTheRestOfItOnceItHasMoved(boolean withError)
            throws Exception {
        upstream.on("tools/call", asked -> {
            if (!asked.body().contains("requestState")) {
                answered(
                        asked,
                        "'resultType':'input_required','requestState':'s-1','inputRequests':{'k':{'method':"
                                + "'elicitation/create','params':{'message':'who?'}}}");
            } else if (withError) {
                refused(asked, 403, -32001);
            } else {
                asked.status(403);
            }
        });
        try (ScriptedUpstream next = new ScriptedUpstream();
                TestGateway gateway =
                        TestGateway.demo("--config", serving(upstream).toString())) {
            script(next);
            next.on("tools/call", asked -> complete(asked, "'content':[]"));
            URI url = gateway.url().resolve("/s/mcp");
            HttpPeer peer = HttpPeer.introduced(url, ASKS);
            try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
                Iterator<String> stream = lines.iterator();
                String question = question(stream);
                move(url, next);

                peer.post("{'jsonrpc':'2.0','id':" + question + ",'result':{'action':'decline'}}");

                assertThat(next(stream, "data", "\"id\":2"))
                        .contains(
                                withError
                                        ? "this server speaks 2026-07-28"
                                        : "it is not known whether the upstream has executed the request");
            }
            assertThat(next.asked("tools/call")).isEmpty();
        }
    }

    @Test
    void anAnswerThatIsBarredIsGivenAgain() throws Exception {
        state =
                "'status':'input_required','inputRequests':{'k':{'method':'elicitation/create','params':{'message':'who?'}}}";
        AtomicBoolean barred = new AtomicBoolean();
        upstream.on("tasks/update", asked -> {
            if (barred.getAndSet(true)) {
                state = "'status':'completed','result':{'content':[{'type':'text','text':'answered'}]}";
                complete(asked, "'ok':true");
            } else {
                asked.status(403);
            }
        });
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);

        try (Stream<String> lines = Wait.until(peer.posted(CALL)).body()) {
            Iterator<String> stream = lines.iterator();
            peer.post("{'jsonrpc':'2.0','id':" + question(stream) + ",'result':{'action':'accept','content':{}}}");
            assertThat(next(stream, "data", "\"id\":2")).contains("answered");
        }
        assertThat(upstream.asked("tasks/cancel")).isEmpty();
    }

    @Test
    void aServerThatCannotTellOfChangesNowIsAskedAgain() throws Exception {
        upstream.on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'capabilities':{'tools':{'listChanged':true}}"))
                .on(
                        "subscriptions/listen",
                        asked -> asked.json("{'jsonrpc':'2.0','id':" + asked.id()
                                + ",'error':{'code':-32603,'message':'not now'}}"));
        HttpPeer.introduced(gateway().url(), ASKS);

        Wait.until(
                "it is asked again",
                () -> upstream.asked("subscriptions/listen").size() > 2);
    }

    /** Lets the upstream tell of changes; the first stream in which it tells of a resource ends with this. */
    private CountDownLatch tellingOfChanges() {
        CountDownLatch breaking = new CountDownLatch(1);
        AtomicBoolean broken = new AtomicBoolean();
        upstream.on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'capabilities':{'tools':{'listChanged':true},"
                                        + "'resources':{'subscribe':true}}"))
                .on("subscriptions/listen", asked -> {
                    boolean resource = asked.body().contains("a://b");
                    OutputStream stream = asked.stream();
                    stream.write(
                            TestJson.of("data: {'jsonrpc':'2.0','method':'notifications/subscriptions/acknowledged',"
                                            + "'params':{'notifications':{'toolsListChanged':true,'resourceSubscriptions':["
                                            + (resource ? "'a://b'" : "") + "]}}}\n\n")
                                    .getBytes(UTF_8));
                    stream.flush();
                    if (resource && !broken.getAndSet(true)) {
                        Wait.until("it breaks", () -> breaking.getCount() == 0);
                        asked.exchange().close();
                    }
                });
        return breaking;
    }

    private static final String SUBSCRIBES =
            "{'jsonrpc':'2.0','id':5,'method':'resources/subscribe','params':{'uri':'a://b'}}";

    @Test
    void aGapInTheChangesIsToldOfEachListAndResource() throws Exception {
        CountDownLatch breaking = tellingOfChanges();
        HttpPeer peer = HttpPeer.connected(gateway().url());
        assertThat(peer.post(SUBSCRIBES).body()).contains("\"id\":5", "\"result\"");
        try (Stream<String> lines = Wait.until(peer.listened()).body()) {
            breaking.countDown();
            Iterator<String> stream = lines.iterator();
            assertThat(next(stream, "data", "list_changed")).contains("notifications/tools/list_changed");
            assertThat(next(stream, "data", "resources/updated")).contains("a://b");
        }
    }

    @Test
    void aJavaClientTellsItsApplicationOfSuchAGapOnce() throws Exception {
        CountDownLatch breaking = tellingOfChanges();
        upstream.on("tools/call", asked -> complete(asked, "'content':[]"));
        List<String> heard = new CopyOnWriteArrayList<>();
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
        RemoteServer server = RemoteServer.at(
                upstream.url(), HttpSender.by(HttpClient.newHttpClient()), clock, ForkJoinPool.commonPool());
        HeldSession session = new HeldSession(
                server,
                Protocol.STREAMABLE_HTTP,
                message -> {
                    heard.add(message.method().isEmpty() ? "answer" : message.method());
                    return CompletableFuture.completedFuture(null);
                },
                SessionWatch.NONE);
        for (String message : List.of(ASKS, "{'jsonrpc':'2.0','method':'notifications/initialized'}", SUBSCRIBES)) {
            Wait.until(session.send(envelope(message), ServerSession.NO_CONTEXT));
        }
        breaking.countDown();
        Wait.until("it is told", () -> heard.contains("notifications/resources/updated"));
        Wait.until(session.send(envelope(CALL), ServerSession.NO_CONTEXT));

        assertThat(heard)
                .containsExactlyInAnyOrder(
                        "answer",
                        "answer",
                        "notifications/tools/list_changed",
                        "notifications/resources/updated",
                        "answer");
        Wait.until(session.close());
        clock.shutdownNow();
    }

    private static Envelope envelope(String json) {
        return EnvelopeReader.ofServer().message(TestJson.of(json).getBytes(UTF_8));
    }

    @Test
    void aServerThatKnowsOfNoListeningIsNotAskedAgainByEachSubscription() throws Exception {
        upstream.on(
                        "server/discover",
                        asked -> complete(
                                asked,
                                "'supportedVersions':['2026-07-28'],'capabilities':{'tools':{'listChanged':true},"
                                        + "'resources':{'subscribe':true}}"))
                .on("subscriptions/listen", asked -> refused(asked, 404, -32601));
        HttpPeer peer = HttpPeer.introduced(gateway().url(), ASKS);
        for (int i = 10; i < 13; i++) {
            peer.post(
                    "{'jsonrpc':'2.0','id':" + i + ",'method':'resources/subscribe','params':{'uri':'a://" + i + "'}}");
        }
        int asked = upstream.asked("subscriptions/listen").size();
        long began = System.nanoTime();

        Wait.until(
                "it is asked once more",
                () -> upstream.asked("subscriptions/listen").size() > asked);
        assertThat(System.nanoTime() - began)
                .as("of three that failed only the last is followed by another")
                .isGreaterThan(TimeUnit.MILLISECONDS.toNanos(2_500));
    }
}
