package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
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
    private final RequestRoom.OfSession room =
            new RequestRoom(new ByteBudget(Long.MAX_VALUE, 1_000, Duration.ZERO)).ofSession();

    private Call started() {
        return started("5", "\"token\"", "");
    }

    private Call started(String id, String token, String params) {
        Envelope request = UpstreamBackend.ENVELOPES.message(("{\"jsonrpc\":\"2.0\",\"id\":" + id
                        + ",\"method\":\"tools/call\",\"params\":{\"_meta\":{\"progressToken\":" + token + "}" + params
                        + "}}")
                .getBytes(UTF_8));
        return calls.start(
                request.inbound(InboundMessage.NO_CONTEXT),
                request,
                new Sink(),
                room.take(1).orElseThrow(),
                false,
                outcome -> Optional.empty());
    }

    private static String id(Call call) {
        return call.names.id().token();
    }

    private static String token(Call call) {
        return call.names.token().orElseThrow().token();
    }

    @Test
    void whatIsCancelledWhileTheOthersEndIsNotGivenBack() {
        Call cancelled = started();
        calls.endUntouched(cancelled);
        calls.cancelled(cancelled);
        Call wanted = started();
        calls.endUntouched(wanted);
        assertThat(calls.untouched()).containsExactly(wanted.request);
        assertThat(calls.untouched()).as("whichever report is heard first").containsExactly(wanted.request);
    }

    @Test
    void whatWasCancelledBeforeTheLossIsNotGivenBack() {
        Call cancelled = started();
        calls.cancelled(cancelled);
        calls.endUntouched(cancelled);
        assertThat(calls.untouched()).isEmpty();
        assertThat(calls.isEmpty()).isTrue();
    }

    @Test
    void onlyOneEndsACall() {
        Call call = started();
        assertThat(calls.beginsToEnd(call)).isTrue();
        calls.endUntouched(call);
        assertThat(calls.untouched()).isEmpty();
        assertThat(calls.end(call)).isTrue();
        assertThat(calls.end(call)).isFalse();
        assertThat(calls.beginsToEnd(call)).isFalse();
    }

    @Test
    void whatComesWhileTheResponseOfACallIsSentIsNotForTheCall() {
        Call call = started();
        assertThat(calls.ofToken(TOKEN)).contains(new UpstreamCalls.Told(Optional.of(call.sink), TOKEN));
        assertThat(calls.beginsToEnd(call)).isTrue();
        assertThat(calls.beginsToEnd(call)).isFalse();
        assertThat(calls.running(call)).isTrue();
        assertThat(calls.ofToken(TOKEN)).isEmpty();
        assertThat(calls.newest()).isEmpty();
    }

    @Test
    void claudeAiMcp539_theUpstreamKnowsEachCallByAnIdOfItsOwn() {
        Call first = started("1", "1", "");
        Call second = started("1", "1", "");
        assertThat(id(first)).isEqualTo("1");
        assertThat(id(second)).isNotEqualTo("1");
        assertThat(token(second)).isNotIn("1", id(second));
        RequestId theirs = second.names.token().orElseThrow();
        assertThat(calls.ofToken(theirs))
                .contains(new UpstreamCalls.Told(Optional.of(second.sink), new RequestId("1")));
        assertThat(second.names
                        .of(UpstreamBackend.ENVELOPES.message(second.request))
                        .id())
                .contains(second.names.id());
    }

    /** A server that replays too much would say twice what belongs to the first. */
    @Test
    void soItDoesWhereTheCallBeforeIsOver() {
        calls.end(started("1", "1", ""));
        Call again = started("1", "1", "");
        assertThat(id(again)).isNotEqualTo("1");
        assertThat(token(again)).isNotEqualTo("1");
        assertThat(id(started("2", "2", ""))).as("one that counts is passed on").isEqualTo("2");
    }

    /** Its progress goes on. */
    @Test
    void theTokenOfATaskDoesNotEndWithItsResponse() {
        Call call = started("5", "\"token\"", ",\"task\":{}");
        assertThat(calls.beginsToEnd(call)).isTrue();
        assertThat(calls.ofToken(TOKEN)).contains(new UpstreamCalls.Told(Optional.empty(), TOKEN));
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
