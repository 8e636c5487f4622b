package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a backend is asked when a session comes back to it, and nobody has listed its tools yet. */
class ToolQuestionTest {
    private static final String NOBODY = "";
    private static final RequestId ID = new RequestId("1");
    private static final Duration LONG = Duration.ofMinutes(1);

    private final Server server = new Server();
    private final HintedBackend backend = new HintedBackend(server, LONG);

    /** Remembers what it is asked; the test answers. */
    private static final class Server implements Backend, BackendConnection {
        private String capabilities = "{\"tools\":{}}";
        private boolean immediate;
        private boolean fails;
        private final List<InboundMessage> asked = new ArrayList<>();
        private final List<CallSink> sinks = new ArrayList<>();
        private final List<InboundMessage> notified = new ArrayList<>();

        @Override
        public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
            OutboundMessage response = result(ID, "{\"capabilities\":" + capabilities + "}");
            return CompletableFuture.completedFuture(new Opened(this, response, "2025-11-25", Optional.empty()));
        }

        @Override
        public boolean executesImmediately() {
            return immediate;
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            sink.send(result(request.requiredId(), "{\"tools\":[]}"));
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            if (fails) {
                throw new IllegalStateException("on purpose");
            }
            asked.add(request);
            sinks.add(sink);
        }

        @Override
        public void notify(InboundMessage notification) {
            notified.add(notification);
        }

        @Override
        public void answer(InboundMessage response) {}

        @Override
        public CompletionStage<Void> close() {
            return CompletableFuture.completedFuture(null);
        }

        /** Answers the last question. */
        private void answers(String result) {
            int last = asked.size() - 1;
            sinks.get(last).send(result(asked.get(last).requiredId(), result));
        }

        private String text() {
            return new String(asked.get(asked.size() - 1).bytes(), UTF_8);
        }
    }

    /** Works one request at a time, and never comes to the end of its list. */
    private static final class OneAtATime implements Backend, BackendConnection {
        private final List<String> begun = new ArrayList<>();
        private boolean busy;

        @Override
        public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
            OutboundMessage response = result(ID, "{\"capabilities\":{\"tools\":{}}}");
            return CompletableFuture.completedFuture(new Opened(this, response, "2025-11-25", Optional.empty()));
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            if (busy) {
                return;
            }
            begun.add(request.method());
            busy = request.method().equals("tools/list");
            if (!busy) {
                sink.send(result(request.requiredId(), "{}"));
            }
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            call(request, sink);
        }

        @Override
        public void notify(InboundMessage notification) {}

        @Override
        public void answer(InboundMessage response) {}

        @Override
        public CompletionStage<Void> close() {
            return CompletableFuture.completedFuture(null);
        }
    }

    /** A client that counts its answers. */
    private static final class Way implements CallSink {
        private int answers;

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            answers++;
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

    private static OutboundMessage result(RequestId id, String result) {
        String text = "{\"jsonrpc\":\"2.0\",\"id\":" + id.token() + ",\"result\":" + result + "}";
        return new OutboundMessage(EventKind.RESPONSE, id, text.getBytes(UTF_8));
    }

    private static InboundMessage initialized() {
        return new InboundMessage(
                InboundMessage.Kind.NOTIFICATION,
                null,
                "notifications/initialized",
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".getBytes(UTF_8),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
    }

    private static InboundMessage request(String method, String params) {
        String text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" + method + "\",\"params\":" + params + "}";
        return new InboundMessage(
                InboundMessage.Kind.REQUEST,
                ID,
                method,
                text.getBytes(UTF_8),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
    }

    private static String readOnly(String name) {
        return "{\"name\":\"" + name + "\",\"annotations\":{\"readOnlyHint\":true}}";
    }

    private static BackendConnection open(HintedBackend hinted, String principal, boolean restores) {
        Backend.OpenRequest request =
                new Backend.OpenRequest(request("initialize", "{}"), principal, "life 7", restores);
        Backend.Outcome outcome = hinted.open(request, new UnheardListening("session"))
                .toCompletableFuture()
                .join();
        return ((Backend.Opened) outcome).connection();
    }

    /** A session comes back: its journal is replayed, and its client calls. */
    private BackendConnection restored(String principal) {
        return restored(backend, principal);
    }

    private static BackendConnection restored(HintedBackend hinted, String principal) {
        BackendConnection connection = open(hinted, principal, true);
        connection.notify(initialized());
        connection.call(request("ping", "{}"), new Way());
        return connection;
    }

    /** Calls until the server was asked so often; a call asks once at most. */
    private void callUntilAsked(int times, Runnable call) {
        long start = System.nanoTime();
        while (server.asked.size() < times) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(20));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            call.run();
        }
    }

    private boolean harmless(String principal, String tool) {
        return backend.mayBeRerun(request("tools/call", "{\"name\":\"" + tool + "\"}"), principal);
    }

    @Test
    void aServerOfASessionThatComesBackIsAskedForItsTools() {
        restored(NOBODY);

        assertThat(server.notified).hasSize(1);
        assertThat(server.text())
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"holdfast-tools-life 7-3-1\",\"method\":\"tools/list\"}");
        assertThat(harmless(NOBODY, "t")).isFalse();
        server.answers("{\"tools\":[" + readOnly("t") + "]}");
        assertThat(harmless(NOBODY, "t")).isTrue();
        assertThat(server.asked).hasSize(1);
    }

    @Test
    void allPagesAreAskedFor() {
        restored(NOBODY);

        server.answers("{\"tools\":[" + readOnly("one") + "],\"nextCursor\":\"a \\\"b\\\"\"}");
        assertThat(server.text())
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"holdfast-tools-life 7-3-2\",\"method\":\"tools/list\","
                        + "\"params\":{\"cursor\":\"a \\\"b\\\"\"}}");
        server.answers("{\"tools\":[" + readOnly("two") + "],\"nextCursor\":null}");

        assertThat(harmless(NOBODY, "one")).isTrue();
        assertThat(harmless(NOBODY, "two")).isTrue();
        assertThat(server.asked).hasSize(2);
    }

    @Test
    void aListWithoutAnEndIsGivenUp() {
        restored(NOBODY);

        for (int page = 0; page < 200; page++) {
            server.answers("{\"tools\":[" + readOnly("t" + page) + "],\"nextCursor\":\"same\"}");
        }

        assertThat(server.asked).hasSize(100);
        assertThat(harmless(NOBODY, "t99")).as("the pages that were read count").isTrue();
    }

    @Test
    void theClientsOwnBeginningAsksNothing() {
        BackendConnection connection = open(backend, NOBODY, false);
        connection.notify(initialized());
        connection.call(request("ping", "{}"), new Way());

        assertThat(server.asked).isEmpty();
    }

    @Test
    void aSessionThatOnlyListensAsksNothing() {
        open(backend, NOBODY, true).notify(initialized());

        assertThat(server.asked).isEmpty();
    }

    @Test
    void theJournalAndTheFirstCallDoNotWaitForTheList() {
        OneAtATime slow = new OneAtATime();
        BackendConnection connection = open(new HintedBackend(slow, LONG), NOBODY, true);
        Way way = new Way();

        connection.notify(initialized());
        connection.replay(request("logging/setLevel", "{\"level\":\"info\"}"), way);
        assertThat(way.answers).isEqualTo(1);
        connection.call(request("ping", "{}"), way);

        assertThat(way.answers).isEqualTo(2);
        assertThat(slow.begun).containsExactly("logging/setLevel", "ping", "tools/list");
    }

    @Test
    void aClientThatListsTheToolsFirstIsNotAnticipated() {
        open(backend, NOBODY, true).call(request("tools/list", "{}"), new Way());

        assertThat(server.asked).isEmpty();
    }

    @Test
    void aConnectionIsAskedOnceIfItAnswers() {
        BackendConnection connection = restored(NOBODY);
        server.answers("{\"tools\":7}");

        connection.call(request("ping", "{}"), new Way());

        assertThat(server.asked).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"tools\":[],\"nextCursor\":\"more\"}",
                "{\"tools\":null}",
                "{}",
                "7",
                "{\"tools\":[{\"name\":\"t\"}"
            })
    void whatIsNoWholeListIsAskedForAgain(String result) {
        BackendConnection first = restored(NOBODY);
        server.answers(result);
        first.close();

        int asked = server.asked.size();
        restored(NOBODY);

        assertThat(server.asked).hasSize(asked + 1);
    }

    @Test
    void aConnectionThatDoesNotAnswerInTimeIsAskedThreeTimes() {
        HintedBackend hasty = new HintedBackend(server, Duration.ofMillis(1));
        BackendConnection first = restored(hasty, NOBODY);
        callUntilAsked(3, () -> first.call(request("ping", "{}"), new Way()));
        // another connection may ask when the third question is over, and gives up its own
        callUntilAsked(4, () -> restored(hasty, NOBODY).close());

        first.call(request("ping", "{}"), new Way());

        assertThat(server.asked).hasSize(4);
        assertThat(server.asked.subList(0, 3))
                .extracting(InboundMessage::id)
                .as("late answers are not taken for those to a later question")
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{\"resources\":{}}", "{\"tools\":null}", "7"})
    void aServerWithoutToolsIsLeftAlone(String capabilities) {
        server.capabilities = capabilities;

        restored(NOBODY);

        assertThat(server.asked).isEmpty();
    }

    @Test
    void aServerThatNeedsTheThreadOfARequestIsLeftAlone() {
        server.immediate = true;

        restored(NOBODY);

        assertThat(server.asked).isEmpty();
    }

    @Test
    void whatIsKnownForAPrincipalIsNotAskedForAgain() {
        restored("alice");
        restored("alice");
        assertThat(server.asked).as("asked already").hasSize(1);
        server.answers("{\"tools\":[]}");
        restored("alice");
        assertThat(server.asked).as("none is known to be harmless").hasSize(1);

        restored("bob");
        assertThat(server.asked).hasSize(2);
    }

    @Test
    void aClientThatListsTheToolsSavesTheQuestion() {
        open(backend, NOBODY, false).call(request("tools/list", "{}"), new Way());

        restored(NOBODY);

        assertThat(server.asked).isEmpty();
    }

    @Test
    void anErrorIsTheEndOfIt() {
        restored(NOBODY);
        RequestId id = server.asked.get(0).requiredId();

        server.sinks.get(0).send(JsonRpc.MESSAGES.error(id, JsonRpc.METHOD_NOT_FOUND, "no such method"));

        assertThat(server.asked).hasSize(1);
        restored(NOBODY);
        assertThat(server.asked).as("the next one is asked").hasSize(2);
    }

    @Test
    void aBackendThatFailsOnTheQuestionGoesOn() {
        server.fails = true;

        restored(NOBODY);

        server.fails = false;
        restored(NOBODY);
        assertThat(server.asked).hasSize(1);
    }

    @Test
    void aConnectionThatClosesGivesUpItsQuestion() {
        restored(NOBODY).close();
        server.answers("{\"tools\":[" + readOnly("t") + "],\"nextCursor\":\"more\"}");

        assertThat(server.asked).as("no further page").hasSize(1);
        assertThat(harmless(NOBODY, "t")).isTrue();
        restored(NOBODY);
        assertThat(server.asked).as("the rest is not known").hasSize(2);
    }

    @Test
    void aServerThatDoesNotAnswerIsToldThatNobodyWaits() throws InterruptedException {
        HintedBackend hasty = new HintedBackend(server, Duration.ofMillis(20));
        List<InboundMessage> cancelled = new ArrayList<>();
        CountDownLatch told = new CountDownLatch(1);
        restored(hasty, NOBODY);
        server.sinks.get(0).onCancel(notification -> {
            notification.ifPresent(cancelled::add);
            told.countDown();
        });

        assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();

        assertThat(cancelled)
                .singleElement()
                .satisfies(message -> assertThat(new String(message.bytes(), UTF_8))
                        .contains("\"method\":\"notifications/cancelled\"")
                        .contains("\"requestId\":\"holdfast-tools-life 7-3-1\""));
        // the cancellation may be told before the question counts as ended
        callUntilAsked(2, () -> restored(hasty, NOBODY));
    }

    @Test
    void whatComesBeforeTheAnswerIsDropped() {
        restored(NOBODY);
        byte[] note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}".getBytes(UTF_8);

        server.sinks.get(0).send(new OutboundMessage(EventKind.NOTIFICATION, null, note));
        server.sinks.get(0).disconnect(Duration.ofSeconds(1));
        assertThat(server.sinks.get(0).sessionId()).isEqualTo("session");

        server.answers("{\"tools\":[" + readOnly("t") + "]}");
        assertThat(harmless(NOBODY, "t")).isTrue();
    }
}
