package dev.holdfast.client;

import static dev.holdfast.client.Eventually.now;
import static dev.holdfast.client.Recorder.answer;
import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.envelope;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The messages of a session that is lost, be there one stream for all answers or one for each. */
@Timeout(30)
class InFlightTest {
    private final Recorder recorder = new Recorder();

    private record Lossy(Link link, InFlight inFlight) {
        private void lose() {
            link.lose(new EOFException());
            inFlight.lost();
        }

        private void loseListening() {
            inFlight.lostElsewhere();
        }
    }

    private Lossy at(ScriptedServer server, boolean onOneStream) {
        return at(server.uri(), onOneStream, () -> true);
    }

    /** A session that says so each time whether the stream is there for answers that have none of their own. */
    private Lossy at(URI server, boolean onOneStream, BooleanSupplier listens) {
        Link link = new Link(remote(server), recorder, new Link.Host() {
            @Override
            public void reached() {}

            @Override
            public boolean answersLater(int status) {
                return status == 202 && listens.getAsBoolean();
            }

            @Override
            public boolean answersOnOneStream() {
                return onOneStream;
            }

            @Override
            public void gone() {
                throw new IllegalStateException("the session is lost");
            }
        });
        return new Lossy(link, new InFlight(link));
    }

    /** A call may have found the session there a moment before it was lost; its answer would have no way to come. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatComesWhileTheSessionIsLostIsNotSent(boolean onOneStream) throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            Lossy session = at(server, onOneStream);

            session.lose();

            assertThat(now(session.inFlight()
                            .call(server.uri(), call(1), NEVER, NO_CONTEXT, new ToldProgress(), recorder)))
                    .isEqualTo(new Outcome.SessionGone());
            assertThat(server.requests).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatHasNotReachedTheServerYetWasNotExecuted(boolean onOneStream) throws Exception {
        try (Socket nobody = new Socket()) {
            // bound, but nobody listens: neither another server nor a client gets its port meanwhile
            nobody.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            URI away = URI.create("http://127.0.0.1:" + nobody.getLocalPort() + "/mcp");
            Lossy session = at(away, onOneStream, () -> true);
            CompletionStage<Outcome> called =
                    session.inFlight().call(away, call(1), NEVER, NO_CONTEXT, new ToldProgress(), recorder);
            Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

            session.lose();

            assertThat(now(called)).isEqualTo(new Outcome.SessionGone());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHarmlessCallThatMayHaveReachedTheServerIsLostWithTheSession(boolean onOneStream) throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            server.then((request, reply) -> {
                server.close();
                reply.rst();
            });
            Lossy session = at(server, onOneStream);
            CompletionStage<Outcome> called =
                    session.inFlight().call(server.uri(), call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder);
            Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

            session.lose();

            assertThat(now(called))
                    .isInstanceOfSatisfying(
                            Outcome.Unknown.class,
                            lost -> assertThat(lost.sessionGone()).isTrue());
        }
    }

    /** A harmless call that was taken, whose answer was to come on the listening stream, and which was sent again when that was lost. */
    private CompletionStage<Outcome> sentAgain(ScriptedServer server, Lossy session) {
        CompletionStage<Outcome> called =
                session.inFlight().call(server.uri(), call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder);
        Eventually.await(
                () -> {
                    session.loseListening();
                    return server.requests.size() > 1;
                },
                () -> "another attempt");
        return called;
    }

    @Test
    void aHarmlessCallIsNotSentBesideItsLastAttemptWhenTheListeningStreamIsLostOnceMore() throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            AtomicBoolean answers = new AtomicBoolean();
            server.then((request, reply) -> reply.status(202))
                    .then((request, reply) -> reply.stream().once(answers::get).chunk("data: " + answer(1) + "\n\n"))
                    .then((request, reply) -> reply.json(answer(1)));
            Lossy session = at(server, false);
            CompletionStage<Outcome> called = sentAgain(server, session);

            session.loseListening();
            // long enough for another attempt
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
            answers.set(true);

            assertThat(now(called)).isEqualTo(new Outcome.Done());
            assertThat(server.requests).hasSize(2);
        }
    }

    @Test
    void aHarmlessCallIsSentAgainOnceThoughTwoFindOutThatTheListeningStreamIsLost() throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            server.then((request, reply) -> reply.status(202));
            for (int i = 0; i < 2; i++) {
                server.then((request, reply) -> {
                    // long enough for another attempt
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                    reply.json(answer(1));
                });
            }
            AtomicInteger asked = new AtomicInteger();
            CompletableFuture<Lossy> opened = new CompletableFuture<>();
            Lossy session = at(server.uri(), false, () -> {
                boolean listens = asked.getAndIncrement() == 0;
                if (!listens) {
                    opened.join().loseListening();
                }
                return listens;
            });
            opened.complete(session);

            assertThat(now(session.inFlight()
                            .call(server.uri(), call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder)))
                    .isEqualTo(new Outcome.Done());
            assertThat(server.requests).hasSize(2);
        }
    }

    @Test
    void aCallThatWaitsForItsNextAttemptIsCancelledAtOnceThoughItsAnswerWasToComeElsewhereBefore() throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            server.then((request, reply) -> reply.status(202))
                    .then((request, reply) -> reply.status(503, "Retry-After: 60"))
                    .then((request, reply) -> reply.status(202));
            Lossy session = at(server, false);
            CompletionStage<Outcome> called = sentAgain(server, session);
            Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

            CompletionStage<Outcome> told = session.inFlight()
                    .post(
                            server.uri(),
                            envelope(
                                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                            NO_CONTEXT);

            assertThat(called.toCompletableFuture()).isCompletedWithValue(new Outcome.Cancelled());
            assertThat(now(told)).isEqualTo(new Outcome.Done());
        }
    }
}
