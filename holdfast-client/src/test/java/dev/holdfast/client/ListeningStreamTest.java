package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.initialized;
import static dev.holdfast.client.Recorder.log;
import static dev.holdfast.client.Recorder.progress;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The stream for what belongs to no request. */
@Tag("jdk")
@Timeout(30)
class ListeningStreamTest {
    private final Recorder recorder = new Recorder();
    private ScriptedServer server;
    private @Nullable ServerSession session;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .then((request, reply) -> reply.status(202));
    }

    @AfterEach
    void close() {
        server.close();
        if (session != null) {
            session.close();
        }
    }

    private ServerSession open(ClientLimits limits) {
        ServerSession opened = recorder.open(remote(server.uri()).withLimits(limits));
        session = opened;
        assertThat(now(opened.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        return opened;
    }

    private static String event(String id, String data) {
        return "id: " + id + "\ndata: " + data + "\n\n";
    }

    @Test
    void opensWithTheSession() throws Exception {
        server.onGet((request, reply) -> reply.stream().chunk(event("e1", log("one"))));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(server.gets().get(0).header("last-event-id")).isEmpty();
    }

    @Test
    void comesBackWithItsCursorAfterAnyEnd() throws Exception {
        server.onGet((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .end())
                .onGet((request, reply) ->
                        reply.stream().chunk(event("e2", log("two"))).fin())
                .onGet((request, reply) -> reply.status(502))
                .onGet((request, reply) -> reply.stream().chunk(event("e2", log("two")) + event("e3", log("three"))));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.next()).contains("two");
        assertThat(recorder.next()).contains("three");
        assertThat(server.gets().get(3).header("last-event-id")).isEqualTo("e2");
        assertThat(recorder.heard).doesNotContain("gap");
    }

    @Test
    void serverThatRefusesTheStreamForGoodIsNotAskedAgain() {
        server.onGet((request, reply) -> reply.status(406)).onGet((request, reply) -> reply.status(406));
        for (int i = 0; i < 5; i++) {
            server.then((request, reply) -> reply.status(202));
        }
        ServerSession opened = open(ClientLimits.DEFAULT);
        Eventually.await(() -> !recorder.heard.isEmpty(), () -> "that the stream was refused");

        for (int i = 0; i < 5; i++) {
            assertThat(now(opened.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        }

        assertThat(server.gets()).hasSizeLessThanOrEqualTo(2);
        assertThat(recorder.heard).singleElement().asString().startsWith("failed");
    }

    /** Each of these connections worked for a while, so that each silence is the first failure. */
    @Test
    void comesBackAfterEachSilenceThoughNoEventHasAnId() {
        ScriptedServer.Act fallsSilent = (request, reply) -> {
            reply.stream();
            for (int i = 0; i < 12; i++) {
                reply.chunk("data: " + log("one") + "\n\n");
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
            }
        };
        server.onGet(fallsSilent).onGet(fallsSilent).onGet((request, reply) -> reply.stream());

        open(ClientLimits.DEFAULT.withSilence(Duration.ofSeconds(4)).withRetryTimeout(Duration.ofSeconds(5)));

        Eventually.await(() -> server.gets().size() == 3, () -> "that the stream is asked for again");
    }

    /** The least that it waits of its own is 100 ms. */
    @Test
    void comesBackNoSoonerThanTheServerSays() throws Exception {
        AtomicLong ended = new AtomicLong();
        AtomicLong back = new AtomicLong();
        server.onGet((request, reply) -> {
                    ScriptedServer.Reply stream = reply.stream().chunk("retry: 1500\n" + event("e1", log("one")));
                    ended.set(System.nanoTime());
                    stream.end();
                })
                .onGet((request, reply) -> {
                    back.set(System.nanoTime());
                    reply.stream().chunk(event("e2", log("two")));
                });

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.next()).contains("two");
        assertThat(Duration.ofNanos(back.get() - ended.get()))
                .isBetween(Duration.ofMillis(1_500), Duration.ofSeconds(15));
    }

    @Test
    void comesBackWithoutACursorAndTellsThatSomethingMayBeMissing() throws Exception {
        server.onGet((request, reply) ->
                        reply.stream().chunk("data: " + log("one") + "\n\n").fin())
                .onGet((request, reply) -> reply.stream().chunk("data: " + log("two") + "\n\n"));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.next()).contains("two");
        assertThat(recorder.heard).containsExactly("reconnecting", "resumed", "gap");
    }

    /** Some servers send no head before the first message. The HTTP client of the JDK may ask again by itself. */
    @Test
    void streamThatBrokeBeforeItsHeadMayHaveLostSomething() throws Exception {
        server.onGet((request, reply) -> reply.rst())
                .onGet((request, reply) -> reply.rst())
                .onGet((request, reply) -> reply.stream().chunk(event("e1", log("one"))));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.heard).containsExactly("reconnecting", "resumed", "gap");
    }

    @Test
    void cursorThatTheServerDoesNotKnowIsAGap() throws Exception {
        server.onGet((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .end())
                .onGet((request, reply) -> reply.status(400))
                .then((request, reply) -> reply.json(answer(9)))
                .onGet((request, reply) -> reply.stream().chunk(event("f1", log("two"))));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.next()).contains("two");
        assertThat(recorder.heard).contains("gap");
        assertThat(server.gets().get(2).header("last-event-id")).isEmpty();
    }

    @Test
    void serverThatDoesNotRouteGetHasItsSession() {
        server.onGet((request, reply) -> reply.status(404))
                .onGet((request, reply) -> reply.status(404))
                .then(Recorder::pong)
                .then((request, reply) -> reply.json(answer(1)));

        ServerSession opened = open(ClientLimits.DEFAULT);
        Eventually.await(
                () -> server.requests.stream()
                        .anyMatch(request -> request.body().contains("\"ping\"")),
                () -> "a ping");

        assertThat(now(opened.call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isEqualTo(new Outcome.Done());
        assertThat(server.gets()).hasSizeLessThanOrEqualTo(2);
        assertThat(recorder.heard).isEmpty();
    }

    @Test
    void sessionThatIsLostIsFoundOutByAnIdleListener() {
        server.onGet((request, reply) -> reply.status(404))
                .onGet((request, reply) -> reply.status(404))
                .then((request, reply) -> reply.status(404));

        open(ClientLimits.DEFAULT);

        Eventually.await(() -> !recorder.heard.isEmpty(), () -> "the loss of the session");
        assertThat(recorder.heard).containsExactly("gone");
    }

    @Test
    void idsOfAStreamThatWasOpenedAnewAreNewOnes() throws Exception {
        server.onGet((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("1", log("one")))
                        .end())
                .onGet((request, reply) -> reply.status(204))
                .onGet((request, reply) -> reply.stream().chunk(event("1", log("two"))));

        open(ClientLimits.DEFAULT);

        assertThat(recorder.next()).contains("one");
        assertThat(recorder.next()).contains("two");
    }

    @Test
    void outageIsOverWhenWhatCanComeBackIsBack() throws Exception {
        server.onGet((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("e1", log("one")))
                        .once(() -> server.requests.size() == 4)
                        .fin())
                .then((request, reply) -> reply.rst())
                .onGet((request, reply) -> reply.stream().chunk(event("e2", log("two"))));

        ServerSession opened = open(ClientLimits.DEFAULT);
        assertThat(recorder.next()).contains("one");
        assertThat(now(opened.call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, new Recorder())))
                .isInstanceOf(Outcome.Unknown.class);

        assertThat(recorder.next()).contains("two");
        assertThat(recorder.heard).startsWith("reconnecting").contains("resumed");
    }

    @Test
    void serverThatOffersNoneIsLeftAlone() {
        server.onGet((request, reply) -> reply.status(405)).then((request, reply) -> reply.json(answer(1)));

        ServerSession opened = open(ClientLimits.DEFAULT);
        server.awaitRequests(3);

        assertThat(now(opened.call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, recorder)))
                .isEqualTo(new Outcome.Done());
        assertThat(server.gets()).hasSizeLessThanOrEqualTo(2);
        assertThat(recorder.heard).isEmpty();
    }

    /** Some servers do not even like a ping before that. */
    @ParameterizedTest
    @ValueSource(ints = {400, 403, 404, 405, 406, 409, 410, 422, 500, 501, 503})
    void aStreamThatIsRefusedBeforeTheSessionHasWorkedIsAskedForOnceMore(int status) throws Exception {
        AtomicBoolean initialized = new AtomicBoolean();
        AtomicBoolean pinged = new AtomicBoolean();
        server.close();
        server = ScriptedServer.start();
        ScriptedServer.Act stream = (request, reply) -> {
            if (initialized.get()) {
                reply.stream().chunk(event("e1", log("one")));
            } else {
                reply.status(status);
            }
        };
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .onGet(stream)
                .onGet(stream)
                .onGet(stream)
                .then((request, reply) -> {
                    pinged.set(request.body().contains("\"ping\""));
                    initialized.set(true);
                    reply.status(202);
                });
        ServerSession opened = recorder.open(remote(server.uri()));
        session = opened;
        Eventually.await(() -> !server.gets().isEmpty(), () -> "that the stream is asked for");

        assertThat(now(opened.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());

        assertThat(recorder.next()).contains("one");
        assertThat(pinged).isFalse();
        assertThat(recorder.heard).doesNotContain("gone");
    }

    @Test
    void aStreamThatIsRefusedForGoodIsAskedForTwiceAtMost() {
        for (int i = 0; i < 5; i++) {
            server.onGet((request, reply) -> reply.status(405)).then((request, reply) -> reply.status(202));
        }
        ServerSession opened = open(ClientLimits.DEFAULT);
        for (int i = 0; i < 5; i++) {
            assertThat(now(opened.post(initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        }

        assertThat(server.gets()).hasSizeLessThanOrEqualTo(2);
    }

    @Test
    void answerToACallIsTakenFromItToo() throws Exception {
        server.onGet((request, reply) -> reply.stream()
                        .once(() -> server.requests.size() == 4)
                        .chunk(event("e1", answer(1)) + event("e2", log("after"))))
                .then((request, reply) -> reply.status(202));

        ServerSession opened = open(ClientLimits.DEFAULT);
        server.awaitRequests(3);
        Recorder sink = new Recorder();

        assertThat(now(opened.call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, sink)))
                .isEqualTo(new Outcome.Done());
        assertThat(sink.messages).hasSize(1);
        assertThat(recorder.next()).contains("after");
    }

    @Test
    void isOpenedAgainByTheNextMessageThatArrivesOnceTheRetryTimeoutWasOver() throws Exception {
        BooleanSupplier over = () -> recorder.heard.stream().anyMatch(heard -> heard.startsWith("failed"));
        server.onGet((request, reply) -> reply.stream().fin()).then((request, reply) -> reply.json(answer(1)));
        // more often than anybody with this retry timeout asks, however short its pauses are
        for (int i = 0; i < 20; i++) {
            server.onGet((request, reply) -> {
                if (over.getAsBoolean()) {
                    reply.stream().chunk(event("f1", log("back")));
                } else {
                    reply.status(503);
                }
            });
        }

        ServerSession opened = open(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofSeconds(1)));
        Eventually.await(over, () -> "the end of the retry timeout: " + recorder.heard);
        assertThat(now(opened.call(call(1), ServerSession.Repeat.NEVER, NO_CONTEXT, new Recorder())))
                .isEqualTo(new Outcome.Done());

        assertThat(recorder.next()).contains("back");
        assertThat(recorder.heard).contains("gap");
    }

    @Test
    void messagesBeforeAnOversizedOneAreTaken() throws Exception {
        server.onGet((request, reply) ->
                reply.stream().chunk("retry: 1\n" + event("e1", log("one")) + event("e2", log("x".repeat(2_000)))));

        open(ClientLimits.DEFAULT.withMessageBytes(1_000));

        assertThat(recorder.next()).contains("one");
    }

    @Test
    void oversizedMessageIsLeftOut() throws Exception {
        server.onGet((request, reply) -> reply.stream().chunk("retry: 1\n" + event("e1", log("x".repeat(200_000)))))
                .onGet((request, reply) -> reply.stream().chunk(event("e2", log("two"))));

        open(ClientLimits.DEFAULT.withMessageBytes(100_000));

        assertThat(recorder.next()).contains("two");
        assertThat(server.gets().get(1).header("last-event-id")).isEqualTo("e1");
        assertThat(recorder.heard).contains("gap");
    }

    /** A server that replays the events of all streams; the call has missed more of its own than the listening stream brings. */
    @Test
    void whatTheStreamOfACallWillBringIsLeftToIt() throws Exception {
        AtomicBoolean cut = new AtomicBoolean();
        AtomicBoolean back = new AtomicBoolean();
        server.onGet((request, reply) -> reply.stream()
                        .chunk("retry: 1\n" + event("l1", log("one")))
                        .once(cut::get)
                        .rst())
                .onGet((request, reply) -> {
                    reply.stream()
                            .chunk(event("a3", progress("a", 3)) + event("a4", answer(2)) + event("l2", log("two")));
                    back.set(true);
                })
                .onGet((request, reply) -> reply.stream()
                        .chunk(event("a2", progress("a", 2)) + event("l1", log("one")))
                        .chunk(event("a3", progress("a", 3)) + event("a4", answer(2)))
                        .end());
        ServerSession opened = open(ClientLimits.DEFAULT);
        assertThat(recorder.next()).contains("one");
        Recorder caller = new Recorder();
        server.then((request, reply) -> {
            reply.stream().chunk("retry: 1\n" + event("a1", progress("a", 1)));
            reply.once(() -> back.get() && recorder.messages.size() == 1).rst();
        });
        CompletionStage<Outcome> called = opened.call(call(2, "a"), NEVER, NO_CONTEXT, caller);
        assertThat(caller.next()).contains("\"progress\":1");
        cut.set(true);

        assertThat(now(called)).isEqualTo(new Outcome.Done());
        assertThat(caller.next()).contains("\"progress\":2");
        assertThat(caller.next()).contains("\"progress\":3");
        assertThat(caller.next()).contains("result");
        assertThat(recorder.next()).contains("two");
        assertThat(recorder.messages).isEmpty();
    }
}
