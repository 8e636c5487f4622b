package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.log;
import static dev.holdfast.client.Recorder.progress;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One call at a server that does wrong. */
@Tag("jdk")
@Timeout(30)
@Execution(ExecutionMode.CONCURRENT)
class HostileServerTest {
    private static final long KEEPALIVE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long BEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(600);
    private static final StreamHandler NO_STREAM = new StreamHandler() {
        @Override
        public void opened(HttpHeaders headers) {
            throw new IllegalStateException("a stream has come");
        }

        @Override
        public CompletionStage<Void> event(SseEvent event) {
            throw new IllegalStateException("an event has come");
        }

        @Override
        public void retry(long millis) {
            throw new IllegalStateException("a stream has come");
        }
    };

    private final Recorder recorder = new Recorder();
    private final Recorder sink = new Recorder();
    private ScriptedServer server;
    private ServerSession session;

    @BeforeEach
    void open() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"));
        session = recorder.open(remote(server.uri()));
        server.awaitRequests(2);
    }

    @AfterEach
    void close() {
        server.close();
        session.close();
    }

    private CompletionStage<Outcome> send(ServerSession.Repeat repeat) {
        return session.call(call(1), repeat, NO_CONTEXT, sink);
    }

    private static String event(String id, String data) {
        return "id: " + id + "\ndata: " + data + "\n\n";
    }

    /** Whether the client has got a message of the call. */
    private boolean told() {
        return !sink.messages.isEmpty();
    }

    private ScriptedServer.Request last() {
        return server.requests.get(server.requests.size() - 1);
    }

    @Test
    void sessionIdAndRevisionStandInEachRequest() {
        server.then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(last().header("mcp-session-id")).isEqualTo("s1");
        assertThat(last().header("mcp-protocol-version")).isEqualTo("2025-11-25");
    }

    @Test
    void idOfAnAnsweredRequestIsFreeThoughItsResponseIsStillBeingTaken() {
        server.then((request, reply) -> reply.json(answer(1)));
        server.then((request, reply) -> reply.json(answer(1)));
        CompletableFuture<Void> taken = new CompletableFuture<>();
        CompletableFuture<Void> come = new CompletableFuture<>();
        CompletionStage<Outcome> first = session.call(call(1), NEVER, NO_CONTEXT, message -> {
            come.complete(null);
            return taken;
        });
        now(come);

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        taken.complete(null);
        assertThat(now(first)).isEqualTo(new Outcome.Done());
    }

    @Test
    void resetStreamIsResumedFromTheLastIdOfAnyConnection() throws Exception {
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) ->
                        reply.stream().chunk(": nothing new\n\n").fin())
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("e1", log("one")) + event("e2", log("two")) + event("e3", answer(1)))
                        .end());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(last().method()).isEqualTo("GET");
        assertThat(last().header("last-event-id")).isEqualTo("e1");
        assertThat(sink.next()).contains("one");
        assertThat(sink.next()).contains("two");
        assertThat(sink.next()).contains("result");
        assertThat(sink.messages).isEmpty();
        assertThat(recorder.heard).startsWith("reconnecting", "resumed");
    }

    /** A server that replays each event behind the cursor, of whichever stream. */
    @Test
    void whatAnotherStreamHasOrBringsIsNotTakenTwice() throws Exception {
        Recorder others = new Recorder();
        AtomicBoolean released = new AtomicBoolean();
        server.then((request, reply) -> reply.stream()
                        .chunk(event("a1", progress("a", 1)))
                        .once(released::get)
                        .chunk(event("a2", progress("a", 2)))
                        .chunk(event("a3", progress("a", 3)) + event("a4", answer(2))))
                .then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("b1", progress("b", 1)))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("a1", progress("a", 1)) + event("b2", progress("b", 2)))
                        .chunk(event("a2", progress("a", 2)) + event("b3", answer(1)))
                        .end());
        CompletionStage<Outcome> other = session.call(call(2, "a"), NEVER, NO_CONTEXT, others);
        assertThat(others.next()).contains("\"a\"");

        assertThat(now(session.call(call(1, "b"), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        assertThat(sink.next()).contains("\"b\"", "\"progress\":1");
        assertThat(sink.next()).contains("\"b\"", "\"progress\":2");
        assertThat(sink.next()).contains("result");
        released.set(true);
        assertThat(now(other)).isEqualTo(new Outcome.Done());
        assertThat(others.next()).contains("\"a\"", "\"progress\":2");
        assertThat(others.next()).contains("\"a\"", "\"progress\":3");
        assertThat(others.next()).contains("result");
        assertThat(sink.messages).isEmpty();
        assertThat(others.messages).isEmpty();
    }

    /** What it brings of the other call is not all that is missing of that one. */
    @Test
    void whatTheStreamOfAnotherCallWillBringIsLeftToIt() throws Exception {
        Recorder others = new Recorder();
        AtomicBoolean released = new AtomicBoolean();
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("a1", progress("a", 1)))
                        .once(released::get)
                        .rst())
                .then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("b1", progress("b", 1)))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("a3", progress("a", 3)) + event("a4", answer(2)) + event("b2", answer(1)))
                        .end())
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("a2", progress("a", 2)) + event("b1", progress("b", 1)))
                        .chunk(event("a3", progress("a", 3)) + event("a4", answer(2)) + event("b2", answer(1)))
                        .end());
        CompletionStage<Outcome> other = session.call(call(2, "a"), NEVER, NO_CONTEXT, others);
        assertThat(others.next()).contains("\"progress\":1");

        assertThat(now(session.call(call(1, "b"), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        released.set(true);

        assertThat(now(other)).isEqualTo(new Outcome.Done());
        assertThat(others.next()).contains("\"progress\":2");
        assertThat(others.next()).contains("\"progress\":3");
        assertThat(others.next()).contains("result");
        assertThat(sink.next()).contains("\"b\"");
        assertThat(sink.next()).contains("result");
        assertThat(others.messages).isEmpty();
        assertThat(sink.messages).isEmpty();
    }

    @Test
    void responseThatWasLeftToAStreamWhichIsNotGivenAnyMoreIsTaken() throws Exception {
        Recorder others = new Recorder();
        AtomicBoolean released = new AtomicBoolean();
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("a1", progress("a", 1)))
                        .once(released::get)
                        .rst())
                .then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("b1", progress("b", 1)))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("a2", answer(2)) + event("b2", answer(1)))
                        .end())
                .onGet((request, reply) -> reply.status(405));
        CompletionStage<Outcome> other = session.call(call(2, "a"), NEVER, NO_CONTEXT, others);
        assertThat(others.next()).contains("\"progress\":1");
        assertThat(now(session.call(call(1, "b"), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        assertThat(others.messages).isEmpty();

        released.set(true);

        assertThat(now(other)).isEqualTo(new Outcome.Done());
        assertThat(others.next()).contains("result");
        assertThat(others.messages).isEmpty();
    }

    @Test
    void streamThatEndsInOrderBeforeTheAnswerIsResumed() {
        server.then((request, reply) ->
                        reply.stream().chunk("id: p\nretry: 1\ndata:\n\n").end())
                .onGet((request, reply) ->
                        reply.stream().chunk(event("e1", answer(1))).end());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(last().header("last-event-id")).isEqualTo("p");
        assertThat(recorder.heard).isEmpty();
    }

    @Test
    void callWithoutEventIdIsNotSentTwice() {
        server.then((request, reply) ->
                reply.stream().chunk("data: " + log("one") + "\n\n").fin());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
        assertThat(server.requests).hasSize(3);
    }

    @Test
    void harmlessCallWithoutEventIdIsSentAgain() {
        server.then((request, reply) ->
                        reply.stream().chunk("data: " + log("one") + "\n\n").fin())
                .then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(HARMLESS))).isEqualTo(new Outcome.Done());
        assertThat(last().method()).isEqualTo("POST");
    }

    @Test
    void callCutBeforeItsHeadHasAnUnknownFate() {
        server.then((request, reply) -> reply.rst());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
        assertThat(server.requests).hasSize(3);
    }

    @Test
    void harmlessCallCutBeforeItsHeadIsSentAgain() {
        server.then((request, reply) -> reply.rst())
                .then((request, reply) -> reply.fin())
                .then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(HARMLESS))).isEqualTo(new Outcome.Done());
    }

    /** The server may have got the first one, and run it still; where that one's answer goes, nobody knows. */
    @Test
    void harmlessCallThatIsInFlightAlreadyIsSentUntilItIsTaken() {
        String error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"in flight already\"}}";
        ScriptedServer.Act refusal =
                (request, reply) -> reply.raw("HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: "
                        + error.length() + "\r\n\r\n" + error);
        server.then((request, reply) -> reply.rst())
                .then(refusal)
                .then(Recorder::pong)
                .then(refusal)
                .then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(HARMLESS))).isEqualTo(new Outcome.Done());
        assertThat(posts()).isEqualTo(4);
    }

    @Test
    void idsThatAreNoneAreNotUsed() {
        server.then((request, reply) -> reply.stream()
                .chunk(event("s1", log("one")) + event("s1", log("two")))
                .fin());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
        assertThat(sink.messages).hasSize(2);
    }

    @Test
    void garbageIsToldAndTheStreamGoesOn() {
        server.then((request, reply) -> reply.stream()
                .chunk(event("e1", "{no json") + event("e2", answer(1)))
                .end());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(recorder.heard).singleElement().asString().contains("no JSON-RPC message");
    }

    @ParameterizedTest
    @ValueSource(strings = {"caf\u00e9", "deep"})
    void answerThatCannotBeReadEndsItsCallThoughItWouldDoNoHarmToSendItAgain(String what) {
        String content = what.equals("deep") ? "[".repeat(1_001) + "]".repeat(1_001) : "\"" + what + "\"";
        String unreadable = answer(1).replace("[]", content);
        server.then((request, reply) ->
                reply.stream().latin1("id: e1\ndata: " + unreadable + "\n\n").end());

        assertThat(now(send(HARMLESS))).isInstanceOf(Outcome.Unreadable.class);
        assertThat(posts()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"jsonrpc\":\"2.0\",\"id\":1}",
                "{\"result\":{\"x\":NaN},\"jsonrpc\":\"2.0\",\"id\":1}",
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"a\":1}]",
            })
    void answerThatCannotBeReadEndsItsCallThoughItsStreamGoesOn(String answer) {
        server.then((request, reply) -> reply.stream().chunk(event("e1", answer)));

        assertThat(now(send(HARMLESS))).isInstanceOf(Outcome.Unreadable.class);
        assertThat(posts()).isEqualTo(1);
        assertThat(recorder.heard).singleElement().asString().contains("no JSON-RPC message");
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            {"jsonrpc":"2.0","id":1,"result":{"x":NaN}}               | the body is not JSON near byte 41
            {"result":{"x":NaN},"jsonrpc":"2.0","id":1}               | the body is not JSON near byte 18
            [{"jsonrpc":"2.0","id":1,"result":{}},{"a":1}]            | message 2 of the batch: jsonrpc must be "2.0", but is missing
            """)
    void bodyThatCannotBeReadIsSaidToBeOne(String answer, String why) {
        server.then((request, reply) -> reply.json(answer));

        assertThat(now(send(HARMLESS)))
                .isEqualTo(new Outcome.Unreadable("the server sent what is no JSON-RPC message: " + why));
        assertThat(posts()).isEqualTo(1);
        assertThat(recorder.heard).singleElement().asString().contains(why);
    }

    @Test
    void streamThatEndsInOrderBehindWhatCannotBeReadHadNoBetterAnswer() {
        server.then((request, reply) -> reply.stream()
                .chunk(event("e1", answer(1).replace("\"id\":1,", "")))
                .end());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
        assertThat(server.gets()).hasSize(1);
    }

    private long posts() {
        return server.requests.stream()
                .filter(request -> request.body().contains("tools/call"))
                .count();
    }

    @Test
    void answerThatIsNestedAsDeeplyAsServersMayIsTaken() {
        String deep = answer(1).replace("[]", "[".repeat(900) + "]".repeat(900));
        server.then((request, reply) -> reply.stream().chunk(event("e1", deep)).end());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
    }

    @Test
    void noHttpAtAllHasAnUnknownFate() {
        server.then((request, reply) -> reply.raw("SMTP ready\r\n\r\n").fin());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
    }

    @Test
    void oversizedMessageEndsItsCall() throws IOException {
        ServerSession bounded = bounded();
        server.then((request, reply) ->
                reply.stream().chunk("id: e1\ndata: " + "x".repeat(200_000)).chunk("y".repeat(200_000)));

        Outcome outcome = now(bounded.call(call(1), HARMLESS, NO_CONTEXT, sink));

        assertThat(outcome).isInstanceOf(Outcome.Unreadable.class);
        bounded.close();
    }

    @Test
    void oversizedBodyEndsItsCall() throws IOException {
        ServerSession bounded = bounded();
        server.then((request, reply) -> reply.json("x".repeat(200_000)));

        assertThat(now(bounded.call(call(1), HARMLESS, NO_CONTEXT, sink))).isInstanceOf(Outcome.Unreadable.class);
        bounded.close();
    }

    private ServerSession bounded() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        return recorder.open(remote(server.uri()).withLimits(ClientLimits.DEFAULT.withMessageBytes(100_000)));
    }

    @Test
    @Timeout(90)
    void silentConnectionIsGivenUpAsTheHeartbeatsTeach() throws Exception {
        server.then((request, reply) -> {
                    reply.stream().chunk("retry: 1\n" + event("e1", log("one")));
                    // and after these heartbeats, two of which agree, nothing: a peer that is gone without a word
                    for (int beat = 1; beat <= 5; beat++) {
                        LockSupport.parkNanos(BEAT_NANOS);
                        reply.chunk(":\n");
                    }
                })
                .onGet((request, reply) ->
                        reply.stream().chunk(event("e2", answer(1))).end());

        assertThat(send(NEVER).toCompletableFuture().get(60, TimeUnit.SECONDS)).isEqualTo(new Outcome.Done());
        assertThat(last().header("last-event-id")).isEqualTo("e1");
    }

    @Test
    void silenceThatWasSetIsKeptBeforeTheHeadToo() throws IOException {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession watched =
                recorder.open(remote(server.uri()).withLimits(ClientLimits.DEFAULT.withSilence(Duration.ofSeconds(4))));
        server.then((request, reply) -> {}).then((request, reply) -> reply.json(answer(1)));

        assertThat(now(watched.call(call(1), HARMLESS, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        watched.close();
    }

    @Test
    void serverThatTakesACursorAndSendsNothingIsNotWaitedFor() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession watched =
                recorder.open(remote(server.uri()).withLimits(ClientLimits.DEFAULT.withSilence(Duration.ofSeconds(4))));
        server.awaitRequests(4);
        server.then((request, reply) ->
                        reply.stream().chunk(event("e1", log("one"))).fin())
                .onGet((request, reply) -> {});

        assertThat(now(watched.call(call(1), NEVER, NO_CONTEXT, sink)))
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class, lost -> assertThat(lost.reason()).contains("does not resume"));
        watched.close();
    }

    /** A call of a client with that retry timeout, whose stream is resumed so. */
    private Outcome resumed(Duration retryTimeout, ScriptedServer.Act act) {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        Requests authorized = new Requests(
                HttpRequest.newBuilder(),
                Requests.Customizer.NONE,
                (request, status, headers, times, context) -> CompletableFuture.completedFuture(times == 0),
                Optional.empty());
        ServerSession hasty = recorder.open(remote(server.uri())
                .withRequests(authorized)
                .withLimits(ClientLimits.DEFAULT.withRetryTimeout(retryTimeout)));
        server.awaitRequests(4);
        server.then((request, reply) ->
                        reply.stream().chunk(event("e1", log("one"))).fin())
                .onGet(act);
        Outcome outcome = now(hasty.call(call(1), NEVER, NO_CONTEXT, sink));
        hasty.close();
        return outcome;
    }

    @Test
    void streamThatIsResumedAndStaysSilentIsGivenUpWithTheRetryTimeout() {
        assertThat(resumed(Duration.ofSeconds(1), (request, reply) -> reply.stream()))
                .isInstanceOf(Outcome.Unknown.class);
    }

    @Test
    void streamThatIsResumedBehindARefusalAndStaysSilentIsGivenUpWithTheRetryTimeout() {
        AtomicBoolean refused = new AtomicBoolean();
        assertThat(resumed(Duration.ofSeconds(1), (request, reply) -> {
                    if (refused.compareAndSet(false, true)) {
                        reply.status(401);
                    } else {
                        reply.stream();
                    }
                }))
                .isInstanceOf(Outcome.Unknown.class);
        assertThat(refused).isTrue();
    }

    @Test
    void streamThatIsResumedAndStopsWithinAnEventIsGivenUpWithTheRetryTimeout() {
        assertThat(resumed(
                        Duration.ofSeconds(1),
                        (request, reply) -> reply.stream().chunk("data: {\"jsonrpc\":")))
                .isInstanceOf(Outcome.Unknown.class);
    }

    /** For longer than the retry timeout, and no piece is late. */
    @Test
    void streamThatIsResumedIsWaitedForWhileAnEventIsOnItsWay() {
        Duration retryTimeout = Duration.ofSeconds(7);
        assertThat(resumed(retryTimeout, (request, reply) -> {
                    ScriptedServer.Reply stream = reply.stream().chunk("data: ");
                    for (String part :
                            List.of("{", "\"jsonrpc\":\"2.0\"", ",\"id\":", "1,", "\"result\":", "{", "}", "}")) {
                        LockSupport.parkNanos(retryTimeout.dividedBy(7).toNanos());
                        stream.chunk(part);
                    }
                    stream.chunk("\n\n").end();
                }))
                .isEqualTo(new Outcome.Done());
    }

    @Test
    void responseThatCameOnAnotherStreamOnlyReachesItsRequest() throws Exception {
        Recorder others = new Recorder();
        server.then((request, reply) -> reply.stream().chunk(event("a1", progress("a", 1))))
                .then((request, reply) -> reply.stream()
                        .chunk(event("a2", answer(2)) + event("b1", answer(1)))
                        .end());
        CompletionStage<Outcome> other = session.call(call(2, "a"), NEVER, NO_CONTEXT, others);
        assertThat(others.next()).contains("progress");

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(now(other)).isEqualTo(new Outcome.Done());
        assertThat(others.next()).contains("\"id\":2");
        assertThat(sink.next()).contains("\"id\":1");
        assertThat(sink.messages).isEmpty();
    }

    /** A server that replays what was missed on all streams, and forgets that the stream goes on; the connection lives. */
    @Test
    void streamOnWhichNothingNewComesAfterItWasResumedIsResumedOnceMore() throws Exception {
        server.then((request, reply) ->
                        reply.stream().chunk(event("a1", answer(2))).end())
                .then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> {
                    ScriptedServer.Reply stream =
                            reply.stream().chunk(event("a1", answer(2)) + event("p1", "{}") + event("e2", log("two")));
                    while (true) {
                        LockSupport.parkNanos(KEEPALIVE_NANOS);
                        stream.chunk(": keepalive\n\n");
                    }
                })
                .onGet((request, reply) ->
                        reply.stream().chunk(event("e3", answer(1))).end());
        assertThat(now(session.call(call(2), NEVER, NO_CONTEXT, new Recorder())))
                .isEqualTo(new Outcome.Done());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(last().header("last-event-id")).isEqualTo("e2");
        assertThat(sink.next()).contains("one");
        assertThat(sink.next()).contains("two");
        assertThat(sink.next()).contains("result");
        assertThat(recorder.heard).containsExactly("reconnecting", "resumed");
    }

    @Test
    void streamThatWasResumedAtAServerThatKeepsStreamsApartIsLeftAlone() throws Exception {
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> {
                    ScriptedServer.Reply stream = reply.stream().chunk("id: e1\ndata: \n\n" + event("e2", log("two")));
                    for (int i = 0; i < 35; i++) {
                        LockSupport.parkNanos(KEEPALIVE_NANOS);
                        stream.chunk(": keepalive\n\n");
                    }
                    stream.chunk(event("e3", answer(1))).end();
                });

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(server.gets())
                .filteredOn(request -> !request.header("last-event-id").isEmpty())
                .hasSize(1);
    }

    @Test
    void typeOfAStreamIsReadWithoutItsCase() {
        server.then((request, reply) ->
                reply.raw("HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nContent-Length: 100\r\n\r\ndata: "
                        + answer(1) + "\n\n"));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
    }

    @Test
    void idThatCannotStandInAHeaderIsNoCursor() {
        server.then((request, reply) ->
                reply.stream().chunk(event("поток-1", log("one"))).fin());

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
    }

    @Test
    void messageWhoseTakerFailsComesAgain() throws Exception {
        server.then((request, reply) -> reply.stream().chunk("id: e0\nretry: 1\ndata:\n\n" + event("e1", log("one"))))
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("e1", log("one")) + event("e2", answer(1)))
                        .end());
        AtomicInteger times = new AtomicInteger();

        Outcome outcome = now(session.call(call(1), NEVER, NO_CONTEXT, message -> {
            if (times.getAndIncrement() == 0) {
                throw new IllegalStateException("not now");
            }
            return sink.message(message);
        }));

        assertThat(outcome).isEqualTo(new Outcome.Done());
        assertThat(sink.messages).hasSize(2);
        assertThat(last().header("last-event-id")).isEqualTo("e0");
    }

    @Test
    void callThatIsCancelledBeforeItCouldBeSentIsNotSent() {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
        clock.setRemoveOnCancelPolicy(true);
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession watched = recorder.open(RemoteServer.at(server.uri(), Recorder.HTTP, clock, Runnable::run));
        server.awaitRequests(4);
        Eventually.await(() -> clock.getQueue().isEmpty(), () -> "that nothing of the opening is due later");
        server.then((request, reply) -> reply.status(503, "Retry-After: 3600"))
                .then((request, reply) -> reply.status(202));
        CompletionStage<Outcome> running = watched.call(call(1), NEVER, NO_CONTEXT, sink);
        Eventually.await(() -> clock.getQueue().size() == 1, () -> "that it is to be sent again");

        CompletionStage<Outcome> cancelled = watched.post(
                Recorder.envelope(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                NO_CONTEXT);

        assertThat(now(running)).isEqualTo(new Outcome.Cancelled());
        Eventually.await(() -> clock.getQueue().isEmpty(), () -> "that it is not to be sent again");
        assertThat(now(cancelled)).isEqualTo(new Outcome.Done());
        watched.close();
        clock.shutdownNow();
        assertThat(server.requests.stream().filter(request -> request.body().contains("tools/call")))
                .hasSize(1);
    }

    @Test
    void busyServerIsAskedAgainWhenItSays() {
        long begun = System.nanoTime();
        server.then((request, reply) -> reply.status(503, "Retry-After: 1"))
                .then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofSeconds(1));
    }

    @Test
    void gatewayErrorLeavesTheFateUnknown() {
        server.then((request, reply) -> reply.status(502));

        assertThat(now(send(NEVER))).isInstanceOf(Outcome.Unknown.class);
    }

    @Test
    void retryTimeoutEndsWithWhatIsKnown() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession hasty = recorder.open(
                remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofMillis(500))));
        for (int i = 0; i < 20; i++) {
            server.then((request, reply) -> reply.status(503));
        }

        assertThat(now(hasty.call(call(1), NEVER, NO_CONTEXT, sink))).isInstanceOf(Outcome.NotSent.class);
        hasty.close();
    }

    @Test
    void lostSessionIsTold() {
        server.then((request, reply) -> reply.status(404));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.SessionGone());
        assertThat(recorder.heard).containsExactly("gone");
    }

    @Test
    void sessionLostUnderARunningCallLeavesItsFateUnknown() {
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .once(this::told)
                        .rst())
                .onGet((request, reply) -> reply.status(404))
                .then((request, reply) -> reply.status(404));

        assertThat(now(send(HARMLESS)))
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        lost -> assertThat(lost.sessionGone()).isTrue());
        assertThat(recorder.heard).contains("gone");
    }

    @Test
    void statusOf400IsALostSessionIfAPingGetsItToo() {
        server.then((request, reply) -> reply.status(400)).then((request, reply) -> reply.status(400));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.SessionGone());
    }

    @Test
    void statusOf400IsAWrongMessageIfAPingIsAnsweredAndItComesAgain() {
        server.then((request, reply) -> reply.status(400))
                .then(Recorder::pong)
                .then((request, reply) -> reply.status(400));

        assertThat(now(send(NEVER)))
                .isInstanceOfSatisfying(
                        Outcome.Refused.class,
                        refused -> assertThat(refused.status()).isEqualTo(400));
    }

    /** The server has read it whole: whatever it did of it, it is not to do twice. */
    @ParameterizedTest
    @ValueSource(ints = {400, 404})
    void refusalThatNamesTheRequestIsBelieved(int status) {
        String error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"charged, not mailed\"}}";
        server.then((request, reply) ->
                        reply.raw("HTTP/1.1 " + status + " X\r\nContent-Type: application/json\r\nContent-Length: "
                                + error.length() + "\r\n\r\n" + error))
                .then(Recorder::pong);

        assertThat(now(send(NEVER)))
                .isInstanceOfSatisfying(
                        Outcome.Refused.class,
                        refused -> assertThat(new String(refused.body(), UTF_8)).isEqualTo(error));
        assertThat(server.requests.stream().filter(request -> request.body().contains("tools/call")))
                .hasSize(1);
    }

    @Test
    void refusalBehindAFailureIsTheServersLastWord() {
        String error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}";
        server.then((request, reply) -> reply.status(500))
                .then((request, reply) ->
                        reply.raw("HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: "
                                + error.length() + "\r\n\r\n" + error));

        assertThat(now(send(HARMLESS)))
                .isInstanceOfSatisfying(
                        Outcome.Refused.class,
                        refused -> assertThat(refused.status()).isEqualTo(400));
    }

    @Test
    void messageThatWasBrokenOffOnceIsSentAgain() {
        server.then((request, reply) -> reply.status(400))
                .then((request, reply) -> reply.json(answer(1)))
                .then((request, reply) -> reply.json(answer(1)));

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
    }

    @Test
    void cancelledCallIsNotResumed() throws Exception {
        server.then((request, reply) -> reply.stream().chunk("retry: 1\n" + event("e1", log("one"))))
                .then((request, reply) -> reply.status(202));
        CompletionStage<Outcome> running = send(NEVER);
        assertThat(sink.next()).contains("one");
        assertThat(now(session.post(
                        Recorder.envelope(
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                        NO_CONTEXT)))
                .isEqualTo(new Outcome.Done());

        assertThat(now(running)).isEqualTo(new Outcome.Cancelled());
    }

    @Test
    void requestsInFlightAreBounded() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession narrow = recorder.open(remote(server.uri()).withLimits(ClientLimits.DEFAULT.withInFlight(1)));
        server.then((request, reply) -> reply.stream());
        CompletionStage<Outcome> running = narrow.call(call(1), NEVER, NO_CONTEXT, sink);

        assertThat(now(narrow.call(call(2), NEVER, NO_CONTEXT, sink))).isInstanceOf(Outcome.NotSent.class);
        narrow.close();
        assertThat(now(running)).isEqualTo(new Outcome.Closed());
    }

    @Test
    void connectionThatBreaksWhileTheSessionIsClosedIsNoNews() throws Exception {
        List<ScriptedServer.Reply> replies = new CopyOnWriteArrayList<>();
        server.then((request, reply) -> replies.add(reply.stream()))
                .then((request, reply) -> replies.add(reply.stream()))
                .then((request, reply) -> reply.status(200));
        List<CompletableFuture<Outcome>> calls = new ArrayList<>();
        for (int id = 1; id <= 2; id++) {
            calls.add(session.call(call(id), NEVER, NO_CONTEXT, sink).toCompletableFuture());
        }
        Eventually.await(() -> replies.size() == 2, () -> replies.size() + " of 2 calls");
        // whichever ends first, the connections of both are cut before the other is looked at
        CompletableFuture<?> both = CompletableFuture.allOf(calls.toArray(new CompletableFuture<?>[0]));
        for (CompletableFuture<Outcome> one : calls) {
            one.thenRun(() -> {
                cut(replies);
                CompletableFuture<?> unused = both.completeOnTimeout(null, 300, TimeUnit.MILLISECONDS);
                both.join();
            });
        }

        session.close();

        assertThat(calls).allSatisfy(one -> assertThat(now(one)).isEqualTo(new Outcome.Closed()));
        assertThat(recorder.heard).isEmpty();
    }

    private static void cut(List<ScriptedServer.Reply> replies) {
        try {
            for (ScriptedServer.Reply reply : replies) {
                reply.fin();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void notificationThatTheServerFailsAtIsSentOnceMore() {
        server.then((request, reply) ->
                        reply.raw("HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
                .then((request, reply) -> reply.status(202));

        assertThat(now(session.post(
                        Recorder.envelope("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}"),
                        NO_CONTEXT)))
                .isEqualTo(new Outcome.Done());
    }

    @Test
    void openingThatIsGivenUpEndsItsConnection() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        server.then((request, reply) -> {
            asked.countDown();
            try {
                reply.gone();
            } finally {
                ended.countDown();
            }
        });
        SessionOpener opening = new SessionOpener(remote(server.uri()), recorder, recorder);
        CompletionStage<SessionOpener.Result> result =
                opening.open(SessionOpener.Protocol.AUTOMATIC, Recorder.initialize(), NO_CONTEXT, sink);
        assertThat(asked.await(20, TimeUnit.SECONDS)).isTrue();

        opening.close();

        assertThat(now(result)).isEqualTo(new SessionOpener.NotOpened(new Outcome.Closed()));
        assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void streamThatComesBackWithNothingNewIsGivenUpWithTheRetryTimeout() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession hasty = recorder.open(
                remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofMillis(500))));
        server.then((request, reply) -> reply.stream()
                .chunk("id: e0\nretry: 1\ndata:\n\n" + event("e1", log("one")))
                .end());
        for (int i = 0; i < 1_000; i++) {
            server.onGet((request, reply) ->
                    reply.stream().chunk("id: e1\ndata:\n\n").end());
        }

        assertThat(now(hasty.call(call(1), NEVER, NO_CONTEXT, sink))).isInstanceOf(Outcome.Unknown.class);
        hasty.close();
    }

    /** A server may send its client away again and again, and be asked whether it is done. */
    @Test
    void messageThatCannotBeReadBeforeAPollTakesNoAnswerWithIt() {
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}"))
                        .end())
                .onGet((request, reply) ->
                        reply.stream().chunk(event("e2", answer(1))).end());

        assertThat(now(send(NEVER))).isEqualTo(new Outcome.Done());
        assertThat(last().header("last-event-id")).isEqualTo("e1");
    }

    @Test
    void answerThatCannotBeReadIsNoneThatIsLostThoughItsStreamBreaksBehindIt() {
        server.then((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", "{\"jsonrpc\":\"2.0\",\"result\":{}}"))
                        .once(() -> recorder.heard.stream().anyMatch(heard -> heard.startsWith("failed")))
                        .rst())
                .onGet((request, reply) -> reply.status(204));

        assertThat(now(send(NEVER)))
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        unknown -> assertThat(unknown.reason()).contains("no JSON-RPC message"));
    }

    @Test
    void serverThatSaysWhenToComeBackIsAskedForLongerThanTheRetryTimeout() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession hasty = recorder.open(
                remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofSeconds(3))));
        long begun = System.nanoTime();
        server.then((request, reply) ->
                reply.stream().chunk("id: e0\nretry: 20\ndata:\n\n").end());
        for (int i = 1; i < 1_000; i++) {
            String poll = "id: e" + i + "\nretry: 20\ndata:\n\n";
            server.onGet((request, reply) -> {
                boolean done = System.nanoTime() - begun > Duration.ofSeconds(5).toNanos();
                reply.stream().chunk(done ? event("last", answer(1)) : poll).end();
            });
        }

        assertThat(now(hasty.call(call(1), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        hasty.close();
    }

    @Test
    void serverThatWantsToBeAskedLaterThanTheRetryTimeoutLastsIsAskedThen() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession hasty = recorder.open(
                remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofMillis(500))));
        server.awaitRequests(4); // its own GET has come
        List<Long> asked = new CopyOnWriteArrayList<>();
        server.then((request, reply) -> {
            asked.add(System.nanoTime());
            reply.stream().chunk("id: e0\nretry: 1200\ndata:\n\n").end();
        });
        for (int i = 0; i < 2; i++) {
            server.onGet((request, reply) -> {
                asked.add(System.nanoTime());
                reply.stream().chunk("retry: 1200\n\n").end();
            });
        }
        server.onGet((request, reply) ->
                reply.stream().chunk(event("last", answer(1))).end());

        assertThat(now(hasty.call(call(1), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());

        for (int i = 1; i < asked.size(); i++) {
            assertThat(Duration.ofNanos(asked.get(i) - asked.get(i - 1)))
                    .isGreaterThanOrEqualTo(Duration.ofMillis(1_200));
        }
        hasty.close();
    }

    @Test
    void silenceThatWasSetIsKeptInTheBodyToo() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession watched =
                recorder.open(remote(server.uri()).withLimits(ClientLimits.DEFAULT.withSilence(Duration.ofSeconds(4))));
        server.then((request, reply) -> reply.raw(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
                .gone());

        assertThat(now(watched.call(call(1), NEVER, NO_CONTEXT, sink)))
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        unknown -> assertThat(unknown.cause()).hasMessageContaining("no bytes for"));
        watched.close();
    }

    @Test
    void authorizationThatThrowsFailsTheCall() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s2"));
        ServerSession throwing = recorder.open(remote(server.uri())
                .withRequests(new Requests(
                        HttpRequest.newBuilder(),
                        Requests.Customizer.NONE,
                        (request, status, headers, times, context) -> {
                            throw new IllegalStateException("no such header");
                        },
                        Optional.empty())));
        server.then((request, reply) -> reply.status(403));

        assertThat(now(throwing.call(call(1), NEVER, NO_CONTEXT, sink)))
                .isInstanceOfSatisfying(
                        Outcome.NotSent.class, not -> assertThat(not.cause()).hasMessageContaining("no such header"));
        throwing.close();
    }

    @Test
    void revisionThatCannotStandInAHeaderIsNotSentBack() {
        server.then((request, reply) ->
                reply.json(initializeResult().replace("2025-11-25", "\u043d\u0435\u0442"), "Mcp-Session-Id: s2"));
        ServerSession odd = recorder.open(remote(server.uri()));
        server.then((request, reply) -> reply.json(answer(1)));

        assertThat(now(odd.call(call(1), NEVER, NO_CONTEXT, sink))).isEqualTo(new Outcome.Done());
        assertThat(server.requests.stream().filter(request -> request.body().contains("tools/call")))
                .singleElement()
                .satisfies(request -> assertThat(request.headers()).doesNotContainKey("mcp-protocol-version"));
        odd.close();
    }

    @Test
    void exchangeThatIsAbortedBeforeItsStartIsNotSent() {
        HttpRequest request = HttpRequest.newBuilder(server.uri()).GET().build();
        HttpExchange exchange = new HttpExchange(
                remote(server.uri()).resources(), request, 100, new HeartbeatWatch(Duration.ZERO), NO_STREAM);
        int before = server.requests.size();

        exchange.abort("not wanted");

        assertThat(now(exchange.start())).isInstanceOf(ExchangeEnd.NoAnswer.class);
        assertThat(server.requests).hasSize(before);
    }

    @Test
    void closeTellsTheServer() {
        server.then((request, reply) -> reply.status(200));

        now(session.close());

        assertThat(last().method()).isEqualTo("DELETE");
        assertThat(last().header("mcp-session-id")).isEqualTo("s1");
    }

    /** It waits for 5 s, and no longer. */
    @Test
    void closeEndsThoughTheServerNeverAnswersIt() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        server.then((request, reply) -> {
            reply.gone();
            left.countDown();
        });

        now(session.close());

        assertThat(last().method()).isEqualTo("DELETE");
        assertThat(left.await(10, TimeUnit.SECONDS)).isTrue();
    }
}
