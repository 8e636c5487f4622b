package dev.holdfast.client;

import static dev.holdfast.client.Recorder.call;
import static dev.holdfast.client.Recorder.now;
import static dev.holdfast.client.Recorder.remote;
import static dev.holdfast.client.ServerSession.NO_CONTEXT;
import static dev.holdfast.client.ServerSession.Repeat.NEVER;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class InFlightTest {
    private static final Link.Host ON_ITS_STREAM = new Link.Host() {
        @Override
        public void reached() {}

        @Override
        public boolean answersLater(int status) {
            return true;
        }
    };

    /** A call may have found the session there a moment before it was lost; its answer would have no way to come. */
    @Test
    void aCallThatComesWhileTheSessionIsLostIsNotSent() throws Exception {
        try (ScriptedServer server = ScriptedServer.start()) {
            Recorder recorder = new Recorder();
            InFlight inFlight = new InFlight(new Link(remote(server.uri()), recorder, ON_ITS_STREAM));

            inFlight.lost("its session is gone", new EOFException());

            assertThat(now(inFlight.call(server.uri(), call(1), NEVER, NO_CONTEXT, recorder)))
                    .isEqualTo(new Outcome.SessionGone());
            assertThat(server.requests).isEmpty();
        }
    }

    @Test
    void aCallThatHasNotReachedTheServerYetWasNotExecuted() throws Exception {
        Recorder recorder = new Recorder();
        ScriptedServer away = ScriptedServer.start();
        away.close();
        InFlight inFlight = new InFlight(new Link(remote(away.uri()), recorder, ON_ITS_STREAM));
        CompletionStage<Outcome> called = inFlight.call(away.uri(), call(1), NEVER, NO_CONTEXT, recorder);
        Eventually.await(() -> recorder.news.contains("reconnecting"), () -> "that the server is away");

        inFlight.lost("its session is gone", new EOFException());

        assertThat(now(called)).isEqualTo(new Outcome.SessionGone());
    }
}
