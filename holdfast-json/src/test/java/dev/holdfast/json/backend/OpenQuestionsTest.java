package dev.holdfast.json.backend;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

class OpenQuestionsTest {
    private static final String ASKED = " {\"jsonrpc\":\"2.0\",\"id\":\"u-1\",\"method\":\"roots/list\"}";

    private final List<String> asked = new ArrayList<>();
    private boolean runs = true;

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
    private final CallSink call = new CallSink() {
        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (runs) {
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

    private final OpenQuestions questions = new OpenQuestions("u", listening, new OpenQuestions.Server() {
        @Override
        public void refuse(OutboundMessage error) {
            asked.add("refused " + new String(error.bytes(), UTF_8));
        }

        @Override
        public boolean runs(CallSink sink) {
            return runs;
        }

        @Override
        public void sent(int bytes, CompletionStage<Void> commit) {}
    });

    private static Envelope question(int id) {
        String text = "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"roots/list\"}";
        EnvelopeReader.Parsed parsed = EnvelopeReader.ofServer().read(text.getBytes(UTF_8));
        return ((EnvelopeReader.Single) parsed).message();
    }

    @Test
    void aQuestionIsAskedInTheCallThatRunsAndElsewhereOnceThatHasEnded() {
        questions.ask(question(0), Optional.of(call));
        assertThat(asked).containsExactly("call" + ASKED);

        runs = false;
        questions.ended(call);

        assertThat(asked).containsExactly("call" + ASKED, "listening" + ASKED);
    }

    /** Another thread has taken its response since it was found. */
    @Test
    void aQuestionForACallThatHasJustEndedIsAskedElsewhere() {
        runs = false;
        questions.ended(call);

        questions.ask(question(0), Optional.of(call));

        assertThat(asked).containsExactly("listening" + ASKED);
    }

    @Test
    void aQuestionBeyondTheBoundIsRefusedUnderTheIdOfTheServer() {
        for (int i = 0; i <= OpenQuestions.MOST; i++) {
            questions.ask(question(i), Optional.empty());
        }

        assertThat(asked)
                .hasSize(OpenQuestions.MOST + 1)
                .last()
                .asString()
                .startsWith("refused {\"jsonrpc\":\"2.0\",\"id\":" + OpenQuestions.MOST + ",\"error\":")
                .contains("too many requests to the client have no answer yet");
    }
}
