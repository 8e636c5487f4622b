package dev.holdfast.client;

import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.now;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.HARMLESS;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.util.concurrent.CompletionStage;
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
    }

    private Lossy at(ScriptedServer server, boolean onOneStream) {
        Link link = new Link(remote(server.uri()), recorder, new Link.Host() {
            @Override
            public void reached() {}

            @Override
            public boolean answersLater(int status) {
                return true;
            }

            @Override
            public boolean answersOnOneStream() {
                return onOneStream;
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

            assertThat(now(session.inFlight().call(server.uri(), call(1), NEVER, NO_CONTEXT, recorder)))
                    .isEqualTo(new Outcome.SessionGone());
            assertThat(server.requests).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatHasNotReachedTheServerYetWasNotExecuted(boolean onOneStream) throws Exception {
        ScriptedServer away = ScriptedServer.start();
        away.close();
        Lossy session = at(away, onOneStream);
        CompletionStage<Outcome> called = session.inFlight().call(away.uri(), call(1), NEVER, NO_CONTEXT, recorder);
        Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

        session.lose();

        assertThat(now(called)).isEqualTo(new Outcome.SessionGone());
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
                    session.inFlight().call(server.uri(), call(1), HARMLESS, NO_CONTEXT, recorder);
            Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

            session.lose();

            assertThat(now(called))
                    .isInstanceOfSatisfying(
                            Outcome.Unknown.class,
                            lost -> assertThat(lost.sessionGone()).isTrue());
        }
    }
}
