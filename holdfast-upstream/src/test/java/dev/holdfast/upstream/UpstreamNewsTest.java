package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Where a client that does not listen is asked what the upstream asks outside of any call. */
class UpstreamNewsTest {
    private static final Envelope QUESTION =
            UpstreamLink.ENVELOPES.message("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}".getBytes(UTF_8));

    private static final RequestRoom.OfSession ROOM =
            new RequestRoom(new ByteBudget(Long.MAX_VALUE, 1_000, Duration.ZERO)).ofSession();

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final List<String> asked = new ArrayList<>();
    private final UpstreamCalls calls = new UpstreamCalls();

    private final ListeningSink listening = new ListeningSink() {
        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            asked.add("listening " + new String(message.bytes(), UTF_8));
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public boolean attached() {
            return false;
        }

        @Override
        public boolean followed() {
            return true;
        }

        @Override
        public void onAbandon(Runnable hook) {}

        @Override
        public String sessionId() {
            return "s";
        }

        @Override
        public void lost(String cause) {}
    };

    /** What is sent in a call that has ended is dropped. */
    private final CallSink sink = new CallSink() {
        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (!calls.isEmpty()) {
                asked.add("call " + new String(message.bytes(), UTF_8));
            }
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook hook) {}

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return "s";
        }
    };

    private UpstreamCalls.Call started() {
        Envelope request = UpstreamLink.ENVELOPES.message(
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}".getBytes(UTF_8));
        return calls.start(
                request,
                names -> new UpstreamCalls.Call(
                        request.inbound(InboundMessage.NO_CONTEXT),
                        ROOM.take(2).orElseThrow(),
                        names,
                        Optional.empty(),
                        false,
                        sink,
                        false,
                        outcome -> Optional.empty()));
    }

    private final UpstreamQuestions questions = new UpstreamQuestions("u", listening, new UpstreamLink(clock, ROOM));
    private final UpstreamNews news = new UpstreamNews(calls, questions, listening);

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    @Test
    void aQuestionIsAskedInTheCallThatRunsAndElsewhereOnceThatHasEnded() {
        UpstreamCalls.Call call = started();

        news.message(QUESTION);
        assertThat(asked).containsExactly("call {\"jsonrpc\":\"2.0\",\"id\":\"u-1\",\"method\":\"roots/list\"}");
        calls.end(call);
        questions.ended(sink);

        assertThat(asked)
                .hasSize(2)
                .endsWith("listening {\"jsonrpc\":\"2.0\",\"id\":\"u-1\",\"method\":\"roots/list\"}");
    }

    /** Another thread has taken its response since it was found. */
    @Test
    void aQuestionForACallThatHasJustEndedIsAskedElsewhere() {
        UpstreamCalls.Call call = started();
        Optional<CallSink> found = calls.newest();
        calls.end(call);
        questions.ended(sink);

        news.ask(QUESTION, found);

        assertThat(asked).containsExactly("listening {\"jsonrpc\":\"2.0\",\"id\":\"u-1\",\"method\":\"roots/list\"}");
    }
}
