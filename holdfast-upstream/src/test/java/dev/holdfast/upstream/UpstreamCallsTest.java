package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.upstream.UpstreamCalls.Call;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Which calls still wait for something, and which an upstream that has lost its session gives back. */
class UpstreamCallsTest {
    private static final RequestId TOKEN = new RequestId("\"token\"");

    private final UpstreamCalls calls = new UpstreamCalls();
    private final RequestRoom.OfSession room = new RequestRoom(1_000).ofSession();

    private Call started(String content) {
        InboundMessage request = new InboundMessage(
                InboundMessage.Kind.REQUEST,
                new RequestId("5"),
                "tools/call",
                content.getBytes(UTF_8),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
        Call call = new Call(
                request,
                room.take(request.bytes().length).orElseThrow(),
                Optional.of(TOKEN),
                new Sink(),
                false,
                outcome -> Optional.empty());
        calls.start(call);
        return call;
    }

    @Test
    void whatIsCancelledWhileTheOthersEndIsNotGivenBack() {
        Call cancelled = started("cancelled");
        calls.endUntouched(cancelled);
        calls.cancelled(cancelled);
        Call wanted = started("wanted");
        calls.endUntouched(wanted);
        assertThat(calls.untouched()).containsExactly(wanted.request());
    }

    @Test
    void whatWasCancelledBeforeTheLossIsNotGivenBack() {
        Call cancelled = started("cancelled");
        calls.cancelled(cancelled);
        calls.endUntouched(cancelled);
        assertThat(calls.untouched()).isEmpty();
        assertThat(calls.isEmpty()).isTrue();
    }

    @Test
    void whatComesWhileTheResponseOfACallIsSentIsNotForTheCall() {
        Call call = started("call");
        assertThat(calls.ofToken(TOKEN)).contains(call.sink());
        assertThat(calls.beginsToEnd(call)).isTrue();
        assertThat(calls.beginsToEnd(call)).isFalse();
        assertThat(calls.running(call)).isTrue();
        assertThat(calls.ofToken(TOKEN)).isEmpty();
        assertThat(calls.newest()).isEmpty();
        assertThat(calls.ended(TOKEN)).isTrue();
    }

    /** Its progress goes on. */
    @Test
    void theTokenOfATaskDoesNotEndWithItsResponse() {
        Call call = started("{\"task\":{}}");
        assertThat(calls.beginsToEnd(call)).isTrue();
        assertThat(calls.ofToken(TOKEN)).isEmpty();
        assertThat(calls.ended(TOKEN)).isFalse();
    }

    private static final class Sink implements CallSink {
        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook hook) {}

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return "session";
        }
    }
}
