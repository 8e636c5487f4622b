package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.initialize;
import static dev.holdfast.client.Recorder.initializeResult;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.held.HeldSession;
import dev.holdfast.json.Envelope;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of the messages of a session that its server loses. */
@Timeout(30)
class SessionLossTest {
    private static final String LONG_PAUSE = "Retry-After: 60";

    private final Recorder recorder = new Recorder();
    private final Recorder sink = new Recorder();
    private final AtomicBoolean gone = new AtomicBoolean();
    private ScriptedServer server;

    @BeforeEach
    void start() throws IOException {
        server = ScriptedServer.start();
    }

    @AfterEach
    void close() {
        server.close();
    }

    /** A session whose listening stream is open. */
    private ServerSession overStreamableHttp() {
        server.then((request, reply) -> reply.json(initializeResult(), "Mcp-Session-Id: s1"))
                .onGet((request, reply) -> reply.stream().chunk(": here\n\n").gone());
        ServerSession session = recorder.open(remote(server.uri()));
        server.awaitRequests(2);
        return session;
    }

    /** A session whose only stream goes on with this. */
    private ServerSession overHttpSse(RemoteServer remote, ScriptedServer.Act rest) {
        server.onGet((request, reply) -> {
                    reply.stream()
                            .chunk("retry: 1\nevent: endpoint\ndata: /message\n\n")
                            .once(() -> server.requests.size() == 2)
                            .chunk("data: " + initializeResult() + "\n\n");
                    rest.on(request, reply);
                })
                .then((request, reply) -> reply.status(202));
        SessionOpener.Result result = now(new SessionOpener(remote, recorder, recorder)
                .open(
                        SessionOpener.Protocol.HTTP_SSE,
                        initialize(),
                        NO_CONTEXT,
                        message -> CompletableFuture.completedFuture(null)));
        return ((SessionOpener.Opened) result).session();
    }

    private CompletionStage<Outcome> send(ServerSession session, ServerSession.Repeat repeat) {
        return session.call(call(1), repeat, NO_CONTEXT, sink);
    }

    /** Another call finds out that the session is lost, and everybody in it knows when this returns. */
    private void lose(ServerSession session) {
        server.then((request, reply) -> reply.status(404));
        assertThat(now(session.call(call(99), NEVER, NO_CONTEXT, new Recorder())))
                .isEqualTo(new Outcome.SessionGone());
        gone.set(true);
    }

    private static void assertLostWithItsSession(Outcome outcome) {
        assertThat(outcome)
                .isInstanceOfSatisfying(
                        Outcome.Unknown.class,
                        unknown -> assertThat(unknown.sessionGone()).isTrue());
    }

    @Test
    void callAtWhichTheServerFailsBehindTheLossGoesToTheNextSession() {
        ServerSession session = overStreamableHttp();
        server.then((request, reply) -> reply.once(gone::get).status(500));
        CompletionStage<Outcome> running = send(session, HARMLESS);
        server.awaitRequests(3);

        lose(session);

        assertLostWithItsSession(now(running));
    }

    @Test
    void callOfWhichAnAttemptBrokeIsNotToldAsUnsentByALaterOne() {
        ServerSession session = overStreamableHttp();
        server.then((request, reply) -> reply.rst()).then((request, reply) -> reply.status(404));

        assertLostWithItsSession(now(send(session, HARMLESS)));
    }

    @Test
    void callOfWhichAnAttemptBrokeIsNotToldAsUnsentByALaterOneOverHttpSseEither() {
        ServerSession session = overHttpSse(remote(server.uri()), (request, reply) -> reply.gone());
        server.then((request, reply) -> reply.rst()).then((request, reply) -> reply.status(404));

        assertLostWithItsSession(now(send(session, HARMLESS)));
        assertThat(recorder.heard).contains("gone");
    }

    @ParameterizedTest
    @ValueSource(ints = {429, 503})
    void callThatWasRefusedForNowWasNotSentWhenItsOnlyStreamEnds(int status) {
        server.then((request, reply) -> reply.status(202));
        ServerSession session = overHttpSse(
                remote(server.uri()),
                (request, reply) -> reply.once(() -> recorder.heard.contains("reconnecting"))
                        .rst());
        server.then((request, reply) -> reply.status(status, LONG_PAUSE));

        assertThat(now(session.post(Recorder.initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(send(session, NEVER))).isEqualTo(new Outcome.SessionGone());
        assertThat(recorder.heard).contains("gone");
    }

    @Test
    void callThatWaitsForCredentialsWasNotSentWhenItsOnlyStreamEnds() {
        CompletableFuture<Boolean> credentials = new CompletableFuture<>();
        AtomicBoolean asked = new AtomicBoolean();
        ServerSession session = overHttpSse(
                remote(server.uri())
                        .withRequests(new Requests(
                                HttpRequest.newBuilder(),
                                Requests.Customizer.NONE,
                                (request, status, headers, times, context) -> {
                                    asked.set(true);
                                    return credentials;
                                },
                                Optional.empty())),
                (request, reply) -> reply.once(asked::get).rst());
        server.then((request, reply) -> reply.status(401));

        assertThat(now(send(session, NEVER))).isEqualTo(new Outcome.SessionGone());
        credentials.complete(true);
        assertThat(server.requests).hasSize(3);
    }

    @Test
    void callThatWaitsForItsNextAttemptEndsWithItsSessionAtOnce() {
        ServerSession session = overStreamableHttp();
        server.then((request, reply) -> reply.status(503, LONG_PAUSE));
        CompletionStage<Outcome> waiting = send(session, NEVER);
        Eventually.await(() -> recorder.heard.contains("reconnecting"), () -> "that the server is away");

        lose(session);

        assertThat(now(waiting)).isEqualTo(new Outcome.SessionGone());
        session.close();
    }

    @Test
    void nothingIsSentInASessionThatIsLost() {
        ServerSession session = overStreamableHttp();
        lose(session);
        int requests = server.requests.size();

        assertThat(now(send(session, HARMLESS))).isEqualTo(new Outcome.SessionGone());
        assertThat(now(session.post(Recorder.initialized(), NO_CONTEXT))).isEqualTo(new Outcome.SessionGone());
        session.listen(NO_CONTEXT);

        assertThat(server.requests).hasSize(requests);
        session.close();
    }

    @Test
    void callThatWasGivenUpIsNotOneToRunInAnotherSession() {
        ServerSession session = overHttpSse(remote(server.uri()), (request, reply) -> reply.gone());
        server.then((request, reply) -> reply.status(202)).then((request, reply) -> reply.status(202));
        CompletionStage<Outcome> called = send(session, HARMLESS);
        server.awaitRequests(3);
        CompletionStage<Outcome> given = session.post(
                Recorder.envelope(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                NO_CONTEXT);
        assertThat(now(given)).isEqualTo(new Outcome.Done());

        lose(session);

        assertThat(now(called)).isEqualTo(new Outcome.Cancelled());
    }

    /** Answers a request under its own id. */
    private static ScriptedServer.Act result(String result, String... headers) {
        return (request, reply) -> reply.json(
                "{\"jsonrpc\":\"2.0\",\"id\":"
                        + Recorder.envelope(request.body()).id().orElseThrow().token() + ",\"result\":" + result + "}",
                headers);
    }

    private static ScriptedServer.Act initializing(String session) {
        return result(
                "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"t\",\"version\":\"1\"}}",
                "Mcp-Session-Id: " + session);
    }

    @Test
    void harmlessCallThatMayHaveRunInTheLostSessionIsNotToldAsUnsentByTheNext() {
        server.then(initializing("s1"))
                .then((request, reply) -> reply.status(202))
                .then(result(
                        "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{},\"annotations\":{\"readOnlyHint\":true}}]}"))
                .then((request, reply) -> reply.rst())
                .then((request, reply) -> reply.status(404))
                .then(initializing("s2"))
                .then((request, reply) -> reply.status(202));
        // more often than anybody with this retry timeout asks
        for (int i = 0; i < 20; i++) {
            server.then((request, reply) -> reply.status(503));
        }
        HeldSession session = new HeldSession(
                remote(server.uri()).withLimits(ClientLimits.DEFAULT.withRetryTimeout(Duration.ofSeconds(5))),
                SessionOpener.Protocol.STREAMABLE_HTTP,
                recorder,
                SessionWatch.NONE);
        assertThat(now(session.send(initialize(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        assertThat(now(session.send(Recorder.initialized(), NO_CONTEXT))).isEqualTo(new Outcome.Done());
        Envelope list = Recorder.envelope("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}");
        assertThat(now(session.send(list, NO_CONTEXT))).isEqualTo(new Outcome.Done());

        assertLostWithItsSession(now(session.send(call(1), NO_CONTEXT)));
        assertThat(server.requests)
                .anyMatch(request -> request.header("mcp-session-id").equals("s2")
                        && request.body().contains("tools/call"));
        session.close();
    }

    /** Makes a call, does this to it once its session is lost, and returns what became of it. */
    private Outcome underWayAtTheLoss(ServerSession.Repeat repeat, ScriptedServer.Act act) {
        ServerSession session = overStreamableHttp();
        server.then((request, reply) -> {
            reply.once(gone::get);
            act.on(request, reply);
        });
        CompletionStage<Outcome> underWay = send(session, repeat);
        server.awaitRequests(3);

        lose(session);

        Outcome outcome = now(underWay);
        session.close();
        return outcome;
    }

    @Test
    void callThatIsTakenBehindItsSessionIsNotWaitedFor() {
        assertLostWithItsSession(underWayAtTheLoss(NEVER, (request, reply) -> reply.status(202)));
    }

    @Test
    void callThatIsAnsweredBehindItsSessionHasItsAnswer() {
        assertThat(underWayAtTheLoss(NEVER, (request, reply) -> reply.json(answer(1))))
                .isEqualTo(new Outcome.Done());
        assertThat(sink.messages).hasSize(1);
    }

    @Test
    void callThatIsRefusedForNowBehindItsSessionWasNotSent() {
        assertThat(underWayAtTheLoss(NEVER, (request, reply) -> reply.status(503, LONG_PAUSE)))
                .isEqualTo(new Outcome.SessionGone());
    }

    @Test
    void harmlessCallThatBreaksBehindItsSessionIsNotSentThereAgain() {
        assertLostWithItsSession(underWayAtTheLoss(HARMLESS, (request, reply) -> reply.rst()));
        assertThat(server.requests.stream()
                        .filter(request -> request.body().contains("\"id\":1,")
                                && request.body().contains("tools/call")))
                .hasSize(1);
    }

    /** Whose response is being taken for as long as the test wants. */
    private static final class SlowTaker {
        private final CompletableFuture<Void> come = new CompletableFuture<>();
        private final CompletableFuture<Void> taken = new CompletableFuture<>();

        private CompletionStage<Outcome> call(ServerSession session, ServerSession.Repeat repeat) {
            CompletionStage<Outcome> outcome = session.call(Recorder.call(1), repeat, NO_CONTEXT, message -> {
                come.complete(null);
                return taken;
            });
            now(come);
            return outcome;
        }
    }

    private ServerSession answering() {
        ServerSession session = overHttpSse(remote(server.uri()), (request, reply) -> {
            reply.once(() -> server.requests.size() == 3).chunk("data: " + answer(1) + "\n\n");
            reply.gone();
        });
        server.then((request, reply) -> reply.status(202));
        return session;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void callWhoseResponseIsBeingTakenIsNotLostWithItsSession(boolean harmless) {
        ServerSession session = answering();
        SlowTaker taker = new SlowTaker();
        CompletionStage<Outcome> called = taker.call(session, harmless ? HARMLESS : NEVER);

        lose(session);

        assertThat(called.toCompletableFuture()).isNotDone();
        taker.taken.complete(null);
        assertThat(now(called)).isEqualTo(new Outcome.Done());
    }

    @Test
    void callWhoseResponseIsNotTakenIsLostWithItsSessionAfterAll() {
        ServerSession session = answering();
        SlowTaker taker = new SlowTaker();
        CompletionStage<Outcome> called = taker.call(session, NEVER);

        lose(session);
        taker.taken.completeExceptionally(new IllegalStateException("not now"));

        assertLostWithItsSession(now(called));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void callWhoseResponseIsBeingTakenIsNotClosedOrGivenUp(boolean closed) {
        ServerSession session = answering();
        SlowTaker taker = new SlowTaker();
        CompletionStage<Outcome> called = taker.call(session, NEVER);

        if (closed) {
            session.close();
        } else {
            server.then((request, reply) -> reply.status(202));
            CompletionStage<Outcome> told = session.post(
                    Recorder.envelope(
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                    NO_CONTEXT);
            assertThat(now(told)).isEqualTo(new Outcome.Done());
        }
        taker.taken.complete(null);

        assertThat(now(called)).isEqualTo(new Outcome.Done());
        session.close();
    }
}
