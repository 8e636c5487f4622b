package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initialize;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.initialized;
import static dev.holdfast.client.Recorder.log;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.held.HeldSession;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers of revision 2024-11-05. */
@Tag("jdk")
@Timeout(30)
class HttpSseTest {
    private static final String ENDPOINT = "event: endpoint\ndata: /message?id=7\n\n";

    private final Recorder recorder = new Recorder();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
    }

    @AfterEach
    void close() {
        server.close();
    }

    private SessionOpener.Result open(SessionOpener.Protocol protocol) {
        return now(new SessionOpener(remote(server.uri()), recorder, recorder)
                .open(protocol, initialize(), NO_CONTEXT, message -> CompletableFuture.completedFuture(null)));
    }

    private void answers(String... events) {
        server.onGet((request, reply) -> {
            int posts = server.requests.size();
            reply.stream().chunk("retry: 1\n" + ENDPOINT);
            for (String event : events) {
                int before = posts++;
                reply.once(() -> server.requests.size() > before).chunk(event);
            }
        });
    }

    @Test
    void serverThatKnowsNoPostIsSpokenToOverHttpSse() {
        server.then((request, reply) -> reply.status(405));
        answers("data: " + initializeResult() + "\n\n", "data: " + answer(1) + "\n\n");
        server.then((request, reply) -> reply.status(202)).then((request, reply) -> reply.status(202));

        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.AUTOMATIC);
        Outcome outcome = now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder));

        assertThat(outcome).isEqualTo(new Outcome.Done());
        assertThat(server.requests)
                .extracting(ScriptedServer.Request::method)
                .containsExactly("POST", "GET", "POST", "POST");
        opened.session().close();
    }

    @Test
    void serverThatTakesRequestsWith200AnswersOnTheStream() {
        AtomicLong answered = new AtomicLong(Long.MAX_VALUE);
        server.onGet((request, reply) -> reply.stream()
                .chunk("retry: 1\n" + ENDPOINT)
                .once(() -> System.nanoTime() - answered.get() > TimeUnit.MILLISECONDS.toNanos(200))
                .chunk("data: " + initializeResult() + "\n\n"));
        server.then((request, reply) -> {
            answered.set(System.nanoTime());
            reply.status(200);
        });

        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        opened.session().close();
    }

    /** Many servers say a word to each POST, some of them as a stream of events. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "text/event-stream|Accepted",
                "application/json|{\"message\":\"Accepted\"}",
                "application/json|{\"jsonrpc\":\"2.0\",\"id\":1,\"status\":\"accepted\"}"
            })
    void serverThatTakesMessagesWithAWordAnswersOnTheStream(String type, String word) {
        AtomicInteger posts = new AtomicInteger();
        AtomicLong last = new AtomicLong();
        IntPredicate answered =
                count -> posts.get() >= count && System.nanoTime() - last.get() > TimeUnit.MILLISECONDS.toNanos(100);
        server.onGet((request, reply) -> reply.stream()
                .chunk("retry: 1\n" + ENDPOINT)
                .once(() -> answered.test(1))
                .chunk("data: " + initializeResult() + "\n\n")
                .once(() -> answered.test(3))
                .chunk("data: " + answer(1) + "\n\n"));
        for (int i = 0; i < 3; i++) {
            server.then((request, reply) -> {
                reply.raw("HTTP/1.1 202 Accepted\r\nContent-Type: " + type + "\r\nContent-Length: " + word.length()
                        + "\r\n\r\n" + word);
                last.set(System.nanoTime());
                posts.incrementAndGet();
            });
        }

        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);
        assertThat(now(opened.session().post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isEqualTo(new Outcome.Done());

        assertThat(posts).hasValue(3);
        opened.session().close();
    }

    @Test
    void aNotFoundThatNamesTheRequestIsItsAnswerAndNotTheEndOfTheSession() {
        String error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"no such tool\"}}";
        server.onGet((request, reply) -> reply.stream()
                        .chunk("event: endpoint\ndata: /messages\n\n")
                        .once(() -> server.requests.size() > 1)
                        .chunk("data: " + initializeResult() + "\n\n"))
                .then((request, reply) -> reply.status(202))
                .then((request, reply) ->
                        reply.raw("HTTP/1.1 404 X\r\nContent-Length: " + error.length() + "\r\n\r\n" + error))
                // the ping that asks whether the session is there
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> reply.status(202));
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isInstanceOfSatisfying(
                        Outcome.Refused.class,
                        refused -> assertThat(refused.status()).isEqualTo(404));
        assertThat(now(opened.session().post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        opened.session().close();
    }

    @Test
    void serverThatKnowsNeitherIsRefused() {
        server.then((request, reply) -> reply.status(404)).onGet((request, reply) -> reply.status(404));

        assertThat(open(SessionOpener.Protocol.AUTOMATIC))
                .isInstanceOfSatisfying(
                        SessionOpener.NotOpened.class,
                        not -> assertThat(not.outcome()).isInstanceOf(Outcome.Refused.class));
    }

    @Test
    void refusalStandsWhereTheStreamIsNoneOfHttpSse() {
        server.then((request, reply) -> reply.status(400))
                .onGet((request, reply) -> reply.stream().chunk("data: " + log("one") + "\n\n"));

        assertThat(open(SessionOpener.Protocol.AUTOMATIC))
                .isInstanceOfSatisfying(
                        SessionOpener.NotOpened.class,
                        not -> assertThat(not.outcome())
                                .isInstanceOfSatisfying(
                                        Outcome.Refused.class,
                                        refused -> assertThat(refused.status()).isEqualTo(400)));
    }

    @Test
    void streamThatNamesNoEndpointIsWaitedForNoLongerThanTheRetryTimeout() {
        server.onGet((request, reply) -> reply.stream().chunk(":\n"));

        SessionOpener.Result result = now(new SessionOpener(
                        remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofMillis(300))),
                        recorder,
                        recorder)
                .open(
                        SessionOpener.Protocol.HTTP_SSE,
                        initialize(),
                        NO_CONTEXT,
                        message -> CompletableFuture.completedFuture(null)));

        assertThat(result)
                .isInstanceOfSatisfying(
                        SessionOpener.NotOpened.class,
                        not -> assertThat(not.outcome()).isInstanceOf(Outcome.NotSent.class));
    }

    @ParameterizedTest
    @CsvSource({
        "HTTP_SSE, http:opaque, it has no host",
        "AUTOMATIC, http://[, it is no URL",
        "HTTP_SSE, http://elsewhere.example/message, 'it is at http://elsewhere.example:80, which is another server than http:'",
        "AUTOMATIC, https://elsewhere.example/message, 'it is at https://elsewhere.example:443, which is another server'"
    })
    void endpointThatCannotBeUsedIsTheReason(SessionOpener.Protocol protocol, String endpoint, String reason) {
        if (protocol == SessionOpener.Protocol.AUTOMATIC) {
            server.then((request, reply) -> reply.status(405));
        }
        server.onGet((request, reply) -> reply.stream().chunk("event: endpoint\ndata: " + endpoint + "\n\n"));

        assertThat(open(protocol))
                .isInstanceOfSatisfying(
                        SessionOpener.NotOpened.class,
                        not -> assertThat(not.outcome())
                                .isInstanceOfSatisfying(
                                        Outcome.NotSent.class,
                                        unsent -> assertThat(unsent.cause())
                                                .isInstanceOf(UnusableEndpointException.class)
                                                .hasMessageContaining(reason)));
        assertThat(server.requests).extracting(ScriptedServer.Request::method).doesNotHaveDuplicates();
    }

    @Test
    void streamWithIdsComesBackToTheSameSession() throws Exception {
        server.onGet((request, reply) -> {
                    reply.stream().chunk("retry: 1\nid: e0\n" + ENDPOINT);
                    reply.once(() -> server.requests.size() == 2).chunk("id: e1\ndata: " + initializeResult() + "\n\n");
                    reply.once(() -> server.requests.size() == 3).fin();
                })
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> reply.status(202))
                .onGet((request, reply) ->
                        reply.stream().chunk("id: e1\n" + ENDPOINT + "id: e2\ndata: " + answer(1) + "\n\n"));
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isEqualTo(new Outcome.Done());
        assertThat(server.requests.get(3).header("last-event-id")).isEqualTo("e1");
        assertThat(recorder.heard).containsExactly("reconnecting", "resumed");
        opened.session().close();
    }

    @Test
    void messageThatCannotBeReadBeforeTheStreamEndsTakesNothingWithIt() throws Exception {
        server.onGet((request, reply) -> {
                    int next = server.requests.size();
                    reply.stream().chunk("retry: 1\nid: e0\n" + ENDPOINT);
                    reply.once(() -> server.requests.size() > next)
                            .chunk("id: e1\ndata: " + initializeResult() + "\n\n");
                    reply.once(() -> server.requests.size() > next + 1)
                            .chunk("id: e2\ndata: ping\n\n")
                            .end();
                })
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> reply.status(202))
                .onGet((request, reply) -> reply.stream().chunk(ENDPOINT + "id: e3\ndata: " + answer(1) + "\n\n"));
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isEqualTo(new Outcome.Done());
        assertThat(server.gets().get(1).header("last-event-id")).isEqualTo("e2");
        assertThat(recorder.heard).doesNotContain("gone");
        opened.session().close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void answerThatCannotBeReadEndsItsCall(boolean beforeItsPostIsAnswered) {
        AtomicBoolean posted = new AtomicBoolean(beforeItsPostIsAnswered);
        AtomicBoolean answered = new AtomicBoolean(!beforeItsPostIsAnswered);
        server.onGet((request, reply) -> {
                    int next = server.requests.size();
                    reply.stream().chunk(ENDPOINT);
                    reply.once(() -> server.requests.size() > next).chunk("data: " + initializeResult() + "\n\n");
                    reply.once(() -> server.requests.size() > next + 1 && posted.get())
                            .chunk("data: {\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}\n\n")
                            .once(() -> recorder.heard.stream().anyMatch(heard -> heard.startsWith("failed")));
                    answered.set(true);
                })
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> {
                    reply.once(answered::get).status(202);
                    posted.set(true);
                });
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isInstanceOf(Outcome.Unreadable.class);
        assertThat(recorder.heard).doesNotContain("gone");
        opened.session().close();
    }

    @Test
    void streamWithoutIdsTakesItsSessionWithIt() throws Exception {
        server.onGet((request, reply) -> {
                    reply.stream().chunk("retry: 1\n" + ENDPOINT);
                    reply.once(() -> server.requests.size() == 2).chunk("data: " + initializeResult() + "\n\n");
                    reply.once(() -> server.requests.size() == 3)
                            .chunk("data: " + log("one") + "\n\n")
                            .once(() -> !recorder.messages.isEmpty())
                            .rst();
                })
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> reply.status(202));
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, new Recorder())))
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        lost -> assertThat(lost.sessionGone()).isTrue());
        assertThat(recorder.heard).contains("gone");
    }

    @Test
    void notificationThatWaitsForTheServerEndsWithItsSession() {
        server.onGet((request, reply) -> {
                    reply.stream().chunk("retry: 1\n" + ENDPOINT);
                    reply.once(() -> server.requests.size() == 2).chunk("data: " + initializeResult() + "\n\n");
                    reply.once(() -> server.requests.size() == 3).rst();
                })
                .then((request, reply) -> reply.status(202))
                .then((request, reply) -> reply.status(503, "Retry-After: 20"));
        SessionOpener.Opened opened = (SessionOpener.Opened) open(SessionOpener.Protocol.HTTP_SSE);

        assertThat(now(opened.session().post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.SessionGone());
    }

    /** Answers the request that comes as this one in the order of all, counted from 0, whatever its id. */
    private void answerPlace(ScriptedServer.Reply reply, int place, String result) throws IOException {
        reply.once(() -> server.requests.size() > place);
        Envelope request = Recorder.envelope(server.requests.get(place).body());
        reply.chunk("data: {\"jsonrpc\":\"2.0\",\"id\":"
                + request.id().orElseThrow().token() + ",\"result\":" + result + "}\n\n");
    }

    @Test
    void sessionThatIsLostWhileTheApplicationOpensItIsReplaced() {
        server.onGet((request, reply) -> {
                    reply.stream().chunk(ENDPOINT);
                    reply.once(() -> server.requests.size() == 2).rst();
                })
                .onGet((request, reply) -> {
                    reply.stream().chunk(ENDPOINT);
                    reply.once(() -> server.requests.size() == 4).chunk("data: " + initializeResult() + "\n\n");
                });
        for (int i = 0; i < 2; i++) {
            server.then((request, reply) -> reply.status(202));
        }
        HeldSession session =
                new HeldSession(remote(server.uri()), SessionOpener.Protocol.HTTP_SSE, recorder, new SessionWatch() {});

        assertThat(now(session.send(initialize(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(server.requests)
                .extracting(ScriptedServer.Request::method)
                .containsExactly("GET", "POST", "GET", "POST");
        session.close();
    }

    @Test
    void serverThatLosesEachSessionOpensNone() {
        for (int i = 0; i < 4; i++) {
            int posts = 2 * i + 2;
            server.onGet((request, reply) -> {
                        reply.stream().chunk(ENDPOINT);
                        reply.once(() -> server.requests.size() == posts).rst();
                    })
                    .then((request, reply) -> reply.status(202));
        }
        HeldSession session =
                new HeldSession(remote(server.uri()), SessionOpener.Protocol.HTTP_SSE, recorder, new SessionWatch() {});

        assertThat(now(session.send(initialize(), NO_CONTEXT))).isInstanceOf(Outcome.Unknown.class);
        assertThat(server.gets()).hasSize(4);
        session.close();
    }

    /** Its stream is cut behind its {@code initialize}: over Streamable HTTP that would be sent again. */
    @ParameterizedTest
    @EnumSource(names = {"AUTOMATIC", "HTTP_SSE"})
    void sessionThatIsLostWhileItIsOpenedInThePlaceOfALostOneIsReplacedToo(SessionOpener.Protocol protocol) {
        String initialized = "{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},"
                + "\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}";
        AtomicBoolean lost = new AtomicBoolean();
        server.onGet((request, reply) -> {
                    int next = server.requests.size();
                    reply.stream().chunk("retry: 1\n" + ENDPOINT);
                    answerPlace(reply, next, initialized);
                    reply.once(lost::get).rst();
                })
                .onGet((request, reply) -> {
                    int next = server.requests.size();
                    reply.stream().chunk("retry: 1\n" + ENDPOINT);
                    reply.once(() -> server.requests.size() > next).rst();
                })
                .onGet((request, reply) -> {
                    int next = server.requests.size();
                    reply.stream().chunk("retry: 1\n" + ENDPOINT);
                    answerPlace(reply, next, initialized);
                    answerPlace(reply, next + 1, "{}");
                });
        for (int i = 0; i < 3; i++) {
            if (protocol == SessionOpener.Protocol.AUTOMATIC) {
                server.then((request, reply) -> reply.status(405));
            }
            server.then((request, reply) -> reply.status(202));
        }
        server.then((request, reply) -> reply.status(202));
        List<String> heard = new CopyOnWriteArrayList<>();
        HeldSession session = new HeldSession(remote(server.uri()), protocol, recorder, new SessionWatch() {
            @Override
            public void sessionReplaced() {
                heard.add("replaced");
            }

            @Override
            public void failed(Throwable failure) {
                heard.add("failed");
            }
        });
        assertThat(now(session.send(initialize(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        lost.set(true);
        Eventually.await(() -> server.gets().size() >= 2, () -> "a second GET");

        assertThat(now(session.send(call(1), NO_CONTEXT))).isEqualTo(new Outcome.Done());

        Eventually.await(() -> !heard.isEmpty(), () -> "that the session was replaced");
        assertThat(heard).containsExactly("replaced");
        session.close();
    }
}
