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

import dev.holdfast.json.Envelope;
import java.io.EOFException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.util.Optional;
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
class MessageExchangeTest {
    private final Recorder recorder = new Recorder();

    /** A session that says so each time whether the stream is there for answers that have none of their own. */
    private final class LossySession extends ServerSession {
        private final URI at;
        private final boolean onOneStream;
        private final BooleanSupplier listens;

        private LossySession(URI at, boolean onOneStream, BooleanSupplier listens) {
            super(remote(at), recorder, recorder);
            this.at = at;
            this.onOneStream = onOneStream;
            this.listens = listens;
        }

        private void lose() {
            lose(new EOFException());
        }

        @Override
        public CompletionStage<Outcome> call(
                Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink) {
            return call(at, request, repeat, context, told, sink);
        }

        @Override
        public CompletionStage<Outcome> post(Envelope message, Object context) {
            return post(at, message, context);
        }

        @Override
        public void listen(Object context) {}

        @Override
        public Optional<String> id() {
            return Optional.empty();
        }

        @Override
        public CompletionStage<Void> close() {
            end();
            return CompletableFuture.completedFuture(null);
        }

        @Override
        void reached() {}

        @Override
        void stopListening() {}

        @Override
        public boolean opensAnew() {
            return true;
        }

        @Override
        public void lost(StreamOwner.Loss why) {}

        @Override
        boolean answersLater(int status) {
            return status == 202 && listens.getAsBoolean();
        }

        @Override
        boolean answersOnOneStream() {
            return onOneStream;
        }
    }

    private LossySession at(ScriptedServer server, boolean onOneStream) {
        return new LossySession(server.uri(), onOneStream, () -> true);
    }

    /** A call may have found the session there a moment before it was lost; its answer would have no way to come. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatComesWhileTheSessionIsLostIsNotSent(boolean onOneStream) throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            LossySession session = at(server, onOneStream);

            session.lose();

            assertThat(now(session.call(call(1), NEVER, NO_CONTEXT, new ToldProgress(), recorder)))
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
            LossySession session = new LossySession(away, onOneStream, () -> true);
            CompletionStage<Outcome> called = session.call(call(1), NEVER, NO_CONTEXT, new ToldProgress(), recorder);
            Eventually.await(() -> recorder.heard.contains("reconnecting"), () -> "that the server is away");

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
            LossySession session = at(server, onOneStream);
            CompletionStage<Outcome> called = session.call(call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder);
            Eventually.await(() -> recorder.heard.contains("reconnecting"), () -> "that the server is away");

            session.lose();

            assertThat(now(called))
                    .isInstanceOfSatisfying(
                            Outcome.Unknown.class,
                            lost -> assertThat(lost.sessionGone()).isTrue());
        }
    }

    /** A harmless call that was taken, whose answer was to come on the listening stream, and which was sent again when that was lost. */
    private CompletionStage<Outcome> sentAgain(ScriptedServer server, LossySession session) {
        CompletionStage<Outcome> called = session.call(call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder);
        Eventually.await(
                () -> {
                    session.lostElsewhere();
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
            LossySession session = at(server, false);
            CompletionStage<Outcome> called = sentAgain(server, session);

            session.lostElsewhere();
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
            CompletableFuture<LossySession> opened = new CompletableFuture<>();
            LossySession session = new LossySession(server.uri(), false, () -> {
                boolean listens = asked.getAndIncrement() == 0;
                if (!listens) {
                    opened.join().lostElsewhere();
                }
                return listens;
            });
            opened.complete(session);

            assertThat(now(session.call(call(1), HARMLESS, NO_CONTEXT, new ToldProgress(), recorder)))
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
            LossySession session = at(server, false);
            CompletionStage<Outcome> called = sentAgain(server, session);
            Eventually.await(() -> recorder.heard.contains("reconnecting"), () -> "that the server is away");

            CompletionStage<Outcome> told = session.post(
                    envelope(
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
                    NO_CONTEXT);

            assertThat(called.toCompletableFuture()).isCompletedWithValue(new Outcome.Cancelled());
            assertThat(now(told)).isEqualTo(new Outcome.Done());
        }
    }
}
