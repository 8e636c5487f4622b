package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Iterator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Questions, progress and cancellation on their way through a gateway in front of an upstream. */
@Timeout(60)
class UpstreamMessagesTest {
    private static final Pattern ID = Pattern.compile("\"id\":(\"[^\"]+\"|\\d+)");

    private final ScriptedUpstream upstream = new ScriptedUpstream();
    private final TestGateway gateway = TestGateway.before(upstream.url());
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    @AfterEach
    void close() {
        gateway.close();
        upstream.close();
    }

    private static void send(OutputStream stream, String message) throws IOException {
        stream.write(TestJson.of("data: " + message + "\n\n").getBytes(UTF_8));
        stream.flush();
    }

    private static String next(Iterator<String> lines, String part) {
        while (lines.hasNext()) {
            String line = lines.next();
            if (line.contains(part)) {
                return line;
            }
        }
        throw new AssertionError("the stream has ended before " + part);
    }

    private static String id(String message) {
        Matcher id = ID.matcher(message);
        assertThat(id.find()).isTrue();
        return id.group(1);
    }

    @Test
    void anUpstreamMaySpeakBeforeItAnswersInitialize() {
        upstream.on("initialize", asked -> {
            asked.exchange().getResponseHeaders().set("Mcp-Session-Id", "early");
            try (OutputStream stream = asked.stream()) {
                send(
                        stream,
                        "{'jsonrpc':'2.0','method':'notifications/message','params':{'level':'info','data':'early'}}");
                send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{'protocolVersion':'2025-11-25'}}");
            }
        });

        HttpPeer peer = HttpPeer.connected(gateway.url());

        assertThat(peer.post("{'jsonrpc':'2.0','id':1,'method':'ping'}").statusCode())
                .isEqualTo(200);
    }

    @Test
    void aRequestOfTheJournalThatMetAnErrorOfAProxyIsSentAgain() {
        AtomicInteger times = new AtomicInteger();
        upstream.on("logging/setLevel", asked -> {
            if (times.incrementAndGet() == 1) {
                asked.status(502);
            } else {
                asked.result("set");
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());

        assertThat(peer.post("{'jsonrpc':'2.0','id':1,'method':'logging/setLevel','params':{'level':'info'}}")
                        .body())
                .contains("set");
    }

    @Test
    void aQuestionIsAskedOnTheStreamOfItsCallAndTheAnswerHasTheUpstreamsId() {
        upstream.on("POST", asked -> {
            answers.add(asked.body());
            asked.status(202);
        });
        upstream.on("asking", asked -> {
            try (OutputStream stream = asked.stream()) {
                send(stream, "{'jsonrpc':'2.0','id':7,'method':'elicitation/create','params':{}}");
                assertThat(Wait.next(answers)).contains("\"id\":7").contains("\"action\":\"accept\"");
                send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}");
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());
        Iterator<String> lines = Wait.until(peer.posted(1, "asking")).body().iterator();
        String question = next(lines, "elicitation/create");
        assertThat(id(question)).isNotEqualTo("7");
        peer.post("{'jsonrpc':'2.0','id':" + id(question) + ",'result':{'action':'accept'}}");
        assertThat(next(lines, "\"id\":1")).contains("result");
    }

    @Test
    void aQuestionThatTheUpstreamGivesUpIsCancelledUnderTheClientsId() {
        upstream.on("asking", asked -> {
            try (OutputStream stream = asked.stream()) {
                send(stream, "{'jsonrpc':'2.0','id':7,'method':'elicitation/create','params':{}}");
                send(stream, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':7}}");
                send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}");
            }
        });
        Iterator<String> lines = Wait.until(HttpPeer.connected(gateway.url()).posted(1, "asking"))
                .body()
                .iterator();
        String question = next(lines, "elicitation/create");
        assertThat(next(lines, "notifications/cancelled")).contains("\"requestId\":" + id(question));
        assertThat(next(lines, "\"id\":1")).contains("result");
    }

    @Test
    void progressComesOnTheStreamOfItsCallAndBeforeItsResponse() {
        upstream.on("tools/call", asked -> {
            try (OutputStream stream = asked.stream()) {
                for (int step = 1; step <= 3; step++) {
                    send(
                            stream,
                            "{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':'t','progress':"
                                    + step + "}}");
                }
                send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}");
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());
        Iterator<String> lines = Wait.until(peer.posted(
                        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'_meta':{'progressToken':'t'}}}"))
                .body()
                .iterator();
        for (int step = 1; step <= 3; step++) {
            assertThat(next(lines, "data: {")).contains("\"progress\":" + step);
        }
        assertThat(next(lines, "data: {")).contains("\"id\":1");
    }

    /** A request that only reads, which is sent again where its connection has broken: what its client gets of the progress. */
    private void assertProgressGoesOn(ScriptedUpstream.Act between) {
        AtomicInteger runs = new AtomicInteger();
        upstream.on("resources/read", asked -> {
            int run = runs.incrementAndGet();
            if (run == 2) {
                between.on(asked);
                return;
            }
            try (OutputStream stream = asked.stream()) {
                for (int step = 1; step <= run; step++) {
                    send(stream, progress("t", step));
                }
                if (run == 3) {
                    send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}");
                }
            }
        });
        Iterator<String> lines = Wait.until(
                        HttpPeer.connected(gateway.url())
                                .posted(
                                        "{'jsonrpc':'2.0','id':1,'method':'resources/read','params':{'_meta':{'progressToken':'t'}}}"))
                .body()
                .iterator();
        assertThat(next(lines, "data: {")).contains("\"progress\":1");
        assertThat(next(lines, "data: {")).contains("\"progress\":2");
        assertThat(next(lines, "data: {")).contains("\"progress\":3");
        assertThat(next(lines, "data: {")).contains("\"id\":1");
        assertThat(runs).hasValue(3);
    }

    @Test
    void theProgressOfARequestThatIsSentAgainGoesOn() {
        assertProgressGoesOn(asked -> asked.status(504));
    }

    @Test
    void theProgressOfARequestThatIsSentAgainInAnotherSessionGoesOn() {
        assertProgressGoesOn(asked -> asked.status(404));
        assertThat(upstream.asked("initialize")).hasSize(2);
    }

    /** The example of an event store in the TypeScript SDK replays more than the stream that is resumed. */
    @Test
    void anErrorThatNamesNoRequestDoesNotEndACall() {
        upstream.on("tools/call", asked -> {
            try (OutputStream stream = asked.stream()) {
                send(stream, "{'jsonrpc':'2.0','id':null,'error':{'code':-32700,'message':'what?'}}");
                send(stream, "{'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}");
            }
        });

        Iterator<String> lines = Wait.until(HttpPeer.connected(gateway.url()).posted(1, "any"))
                .body()
                .iterator();

        assertThat(next(lines, "data: {")).contains("\"id\":1", "result");
    }

    @Test
    void progressThatIsRepeatedOnTheListeningStreamBehindItsResponseIsDropped() {
        BlockingQueue<String> news = new LinkedBlockingQueue<>();
        upstream.on("GET", asked -> {
            try (OutputStream stream = asked.stream()) {
                send(stream, Wait.next(news));
                send(stream, Wait.next(news));
                send(stream, TestJson.notification("notifications/message"));
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());
        try (ListeningSocket listening = new ListeningSocket(peer)) {
            assertThat(peer.post("{'jsonrpc':'2.0','id':1,'method':'who','params':{'_meta':{'progressToken':'call'}}}")
                            .body())
                    .contains("\"id\":1");
            assertThat(peer.post(
                                    "{'jsonrpc':'2.0','id':2,'method':'who','params':{'task':{},'_meta':{'progressToken':'later'}}}")
                            .body())
                    .contains("\"id\":2");
            news.add(progress("call", 1));
            news.add(progress("later", 1));
            String message = listening.readUntil("data: {");
            assertThat(message).contains("\"progressToken\":\"later\"");
            assertThat(listening.readUntil("data: {")).contains("notifications/message");
        }
    }

    @Test
    void whatComesBehindTheResponseOfACallGoesToTheListeningStream() {
        upstream.on("tools/call", asked -> {
            try (OutputStream stream = asked.stream()) {
                stream.write(TestJson.of("data: {'jsonrpc':'2.0','id':" + asked.id() + ",'result':{}}\n\n" + "data: "
                                + TestJson.notification("notifications/behind") + "\n\n")
                        .getBytes(UTF_8));
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());
        try (ListeningSocket listening = new ListeningSocket(peer)) {
            assertThat(peer.call(1, "tools/call")).contains("\"id\":1");
            assertThat(listening.readUntil("data: {")).contains("notifications/behind");
        }
    }

    @Test
    void aClientThatOnlyListensHearsOfTheSessionThatTakesThePlaceOfALostOne() {
        CountDownLatch lost = new CountDownLatch(1);
        upstream.on("GET", asked -> {
            boolean first = asked.header("Mcp-Session-Id").equals("session-1");
            if (first && lost.getCount() == 0) {
                asked.status(404);
                return;
            }
            try (OutputStream stream = asked.stream()) {
                if (first) {
                    stream.flush();
                    Wait.until(lost);
                } else {
                    send(stream, TestJson.notification("notifications/back"));
                    Wait.next(answers);
                }
            }
        });
        upstream.on("ping", asked -> asked.status(404));
        HttpPeer peer = HttpPeer.connected(gateway.url());
        try (ListeningSocket listening = new ListeningSocket(peer)) {
            Wait.until("the gateway listens", () -> !upstream.asked("GET").isEmpty());
            lost.countDown();
            assertThat(listening.readUntil("data: {")).contains("notifications/back");
            answers.add("heard");
        }
    }

    @Test
    void gapsThatFollowEachOtherAreToldTogether() {
        upstream.on("initialize", asked -> {
            asked.exchange().getResponseHeaders().set("Mcp-Session-Id", "forgetful");
            asked.json("{'jsonrpc':'2.0','id':" + asked.id()
                    + ",'result':{'protocolVersion':'2025-11-25','capabilities':{'tools':{'listChanged':true}}}}");
        });
        AtomicInteger streams = new AtomicInteger();
        upstream.on("GET", asked -> {
            try (OutputStream stream = asked.stream()) {
                stream.write("retry: 100\n\n".getBytes(UTF_8));
                send(stream, TestJson.notification("notifications/stream" + streams.incrementAndGet()));
            }
        });
        HttpPeer peer = HttpPeer.connected(gateway.url());
        int told = 0;
        try (ListeningSocket listening = new ListeningSocket(peer)) {
            while (told == 0 || streams.get() < 8) {
                told += listening.readUntil("data: {").contains("tools/list_changed") ? 1 : 0;
            }
        }
        // one for each of seven gaps before; on a slow machine more than ten seconds may pass
        assertThat(told).isBetween(1, 3);
    }

    private static String progress(String token, int step) {
        return "{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':'" + token
                + "','progress':" + step + "}}";
    }

    @Test
    void aCancellationReachesTheUpstreamAndTheSessionGoesOn() {
        upstream.on("long", asked -> asked.stream().flush());
        HttpPeer peer = HttpPeer.connected(gateway.url());
        var running = peer.posted(1, "long");
        assertThat(Wait.until(running).statusCode()).isEqualTo(200);
        Wait.until("the call is there", () -> !upstream.asked("long").isEmpty());

        peer.post("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}");

        Wait.until(
                "the cancellation is there",
                () -> !upstream.asked("notifications/cancelled").isEmpty());
        assertThat(upstream.asked("notifications/cancelled").get(0).body()).contains("\"requestId\":1");
        assertThat(Wait.until(running).body()).noneMatch(line -> line.startsWith("data: {"));
        assertThat(peer.call(2, "who")).contains("\"text\":\"done\"");
    }
}
