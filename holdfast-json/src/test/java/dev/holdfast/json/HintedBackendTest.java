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
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HintedBackendTest {
    private static final RequestId ID = new RequestId("1");
    private static final String NOBODY = "";

    private final Inner inner = new Inner();
    private final HintedBackend backend = new HintedBackend(inner);

    /** Answers with what the test says, and remembers what it was handed. */
    private static final class Inner implements Backend, BackendConnection {
        private Outcome outcome = new Opened(this, response("{}"), "2025-11-25", Optional.of("proposed"));
        private OutboundMessage answer = response("{}");
        private final List<InboundMessage> messages = new ArrayList<>();
        private final List<CallSink> sinks = new ArrayList<>();
        private final List<InboundMessage> replayed = new ArrayList<>();
        private boolean closed;

        @Override
        public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
            return CompletableFuture.completedFuture(outcome);
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            messages.add(request);
            sinks.add(sink);
            sink.send(answer);
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            replayed.add(request);
        }

        @Override
        public void notify(InboundMessage notification) {
            messages.add(notification);
        }

        @Override
        public void answer(InboundMessage response) {
            messages.add(response);
        }

        @Override
        public CompletionStage<Void> close() {
            closed = true;
            return CompletableFuture.completedFuture(null);
        }
    }

    /** A client's end of a call. */
    private static final class Way implements CallSink {
        private final List<OutboundMessage> sent = new ArrayList<>();
        private final List<Duration> disconnects = new ArrayList<>();
        private Optional<CancelHook> hook = Optional.empty();

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            sent.add(message);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook next) {
            hook = Optional.of(next);
        }

        @Override
        public void disconnect(Duration retry) {
            disconnects.add(retry);
        }

        @Override
        public String sessionId() {
            return "session";
        }
    }

    private static OutboundMessage response(String result) {
        return new OutboundMessage(EventKind.RESPONSE, ID, message("\"result\":" + result));
    }

    private static byte[] message(String rest) {
        return ("{\"jsonrpc\":\"2.0\",\"id\":1," + rest + "}").getBytes(UTF_8);
    }

    private static InboundMessage request(String method, String params) {
        return new InboundMessage(
                InboundMessage.Kind.REQUEST,
                ID,
                method,
                message("\"method\":\"" + method + "\",\"params\":" + params),
                new JournalChange.None(),
                InboundMessage.NO_CONTEXT);
    }

    private static InboundMessage calling(String tool) {
        return request("tools/call", "{\"arguments\":{\"name\":\"other\"},\"name\":" + JsonText.quoted(tool) + "}");
    }

    private static String tool(String name, String annotations) {
        return "{\"name\":\"" + name + "\",\"title\":\"A tool\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
                + "{\"name\":{\"type\":\"string\"},\"annotations\":{\"readOnlyHint\":true}}},\"annotations\":"
                + annotations + "}";
    }

    private static String readOnly(String name) {
        return tool(name, "{\"readOnlyHint\":true}");
    }

    private BackendConnection open(String principal) {
        Backend.OpenRequest request = new Backend.OpenRequest(request("initialize", "{}"), principal, "life 1", false);
        Backend.Outcome outcome = backend.open(request, new UnheardListening(""))
                .toCompletableFuture()
                .join();
        assertThat(outcome).isInstanceOf(Backend.Opened.class);
        return ((Backend.Opened) outcome).connection();
    }

    private void list(String principal, String... tools) {
        answer(principal, response("{\"tools\":[" + String.join(",", tools) + "],\"nextCursor\":\"more\"}"));
    }

    private void answer(String principal, OutboundMessage answer) {
        inner.answer = answer;
        Way way = new Way();
        open(principal).call(request("tools/list", "{}"), way);
        assertThat(way.sent).containsExactly(answer);
    }

    private boolean harmless(String principal, String tool) {
        return backend.mayBeRerun(calling(tool), principal);
    }

    @Test
    void aReplayIsPassedOnAsSuch() {
        InboundMessage level = request("logging/setLevel", "{\"level\":\"info\"}");

        open(NOBODY).replay(level, new Way());

        assertThat(inner.replayed).containsExactly(level);
        assertThat(inner.messages).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"readOnlyHint\":true} | true",
                "{\"idempotentHint\":true} | true",
                "{\"title\":\"x\",\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":true} | true",
                "{\"readOnlyHint\":true,\"idempotentHint\":false,\"openWorldHint\":true} | true",
                "{\"readOnlyHint\":false,\"idempotentHint\":false} | false",
                "{\"destructiveHint\":false} | false",
                "{\"openWorldHint\":false} | false",
                "{\"readOnlyHint\":\"true\"} | false",
                "{\"readOnlyHint\":1,\"idempotentHint\":{\"readOnlyHint\":true}} | false",
                "{\"other\":{\"readOnlyHint\":true}} | false",
                "{} | false",
                "null | false",
                "[{\"readOnlyHint\":true}] | false",
            })
    void aToolSaysWhetherItsCallsMayBeRunAgain(String annotations, boolean harmless) {
        assertThat(harmless(NOBODY, "a_tool")).isFalse();

        list(NOBODY, tool("before", "{}"), tool("a_tool", annotations), tool("after", "{}"));

        assertThat(harmless(NOBODY, "a_tool")).isEqualTo(harmless);
        assertThat(harmless(NOBODY, "before")).isFalse();
        assertThat(harmless(NOBODY, "after")).isFalse();
        assertThat(harmless(NOBODY, "unheard_of")).isFalse();
    }

    @Test
    void theRealAnswerOfAServerIsRead() {
        answer(NOBODY, response("""
                        {"_meta":{"tools":[{"name":"c","annotations":{"readOnlyHint":true}}]},"tools":[
                        {"name":"read_file","title":"Read File","description":"Reads {a} \\"file\\"","inputSchema":{"$schema":\
                        "http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"}},\
                        "required":["path"]},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"forbidden"}},
                        {"annotations":{"readOnlyHint":false,"idempotentHint":true,"destructiveHint":true},"name":"wr\\u0069te_file",\
                        "inputSchema":{"type":"object"}},
                        {"name":"edit_file","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,\
                        "idempotentHint":false,"destructiveHint":true}}]}"""));

        assertThat(harmless(NOBODY, "read_file")).isTrue();
        assertThat(harmless(NOBODY, "write_file")).isTrue();
        assertThat(harmless(NOBODY, "edit_file")).isFalse();
        assertThat(harmless(NOBODY, "c")).isFalse();
    }

    @Test
    void pagesAddUpAndALaterAnswerReplacesWhatIsKnownOfTheToolsItNames() {
        list(NOBODY, readOnly("one"), readOnly("two"));
        list(NOBODY, readOnly("three"));
        assertThat(List.of("one", "two", "three")).allMatch(tool -> harmless(NOBODY, tool));

        list(NOBODY, tool("two", "{}"));

        assertThat(harmless(NOBODY, "one")).isTrue();
        assertThat(harmless(NOBODY, "two")).isFalse();
        assertThat(harmless(NOBODY, "three")).isTrue();
    }

    @Test
    void eachPrincipalHasToolsOfItsOwn() {
        list("alice", readOnly("tool"));

        assertThat(harmless("alice", "tool")).isTrue();
        assertThat(harmless("bob", "tool")).isFalse();
        assertThat(harmless(NOBODY, "tool")).isFalse();
    }

    @Test
    void whatIsKnownIsBounded() {
        list(
                NOBODY,
                IntStream.rangeClosed(0, 1_000).mapToObj(i -> readOnly("t" + i)).toArray(String[]::new));
        assertThat(harmless(NOBODY, "t0")).isFalse();
        assertThat(harmless(NOBODY, "t1")).isTrue();
        list(NOBODY, readOnly("another"));
        assertThat(harmless(NOBODY, "t1")).as("asked for just now").isTrue();
        assertThat(harmless(NOBODY, "t2")).isFalse();

        for (int i = 0; i < 999; i++) {
            list("p" + i, readOnly("tool"));
        }
        assertThat(harmless(NOBODY, "another")).isTrue();
        list("one more", readOnly("tool"));
        assertThat(harmless(NOBODY, "another")).isTrue();
        assertThat(harmless("p0", "tool")).isFalse();
        assertThat(harmless("p1", "tool")).isTrue();
    }

    @Test
    void aNameThatNoToolShouldHaveIsNotKept() {
        String longest = "n".repeat(128);
        list(NOBODY, readOnly(longest), readOnly(longest + "n"));

        assertThat(harmless(NOBODY, longest)).isTrue();
        assertThat(harmless(NOBODY, longest + "n")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"tools\":[{\"name\":\"t\",\"annotations\":{\"readOnlyHint\":true}}",
                "{\"tools\":{\"name\":\"t\",\"annotations\":{\"readOnlyHint\":true}}}",
                "{\"tools\":[[{\"name\":\"t\",\"annotations\":{\"readOnlyHint\":true}}]]}",
                "{\"tools\":[{\"name\":7,\"annotations\":{\"readOnlyHint\":true}}, 7, null, \"t\"]}",
                "{\"tools\":null}",
                "[{\"tools\":[{\"name\":\"t\",\"annotations\":{\"readOnlyHint\":true}}]}]",
                "7",
                "",
            })
    void anAnswerThatIsNoListTeachesNothingAndIsPassedOn(String result) {
        list(NOBODY, readOnly("known"));

        answer(NOBODY, response(result));

        assertThat(harmless(NOBODY, "t")).isFalse();
        assertThat(harmless(NOBODY, "known")).isTrue();
    }

    @Test
    void onlyResultsTeach() {
        byte[] list = message("\"result\":{\"tools\":[" + readOnly("t") + "]}");

        answer(NOBODY, new OutboundMessage(EventKind.ERROR, ID, list));
        answer(NOBODY, new OutboundMessage(EventKind.NOTIFICATION, null, list));

        assertThat(harmless(NOBODY, "t")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ping",
                "tools/list",
                "resources/list",
                "resources/templates/list",
                "resources/read",
                "prompts/list",
                "prompts/get",
                "completion/complete",
                "tasks/get",
                "tasks/list",
                "tasks/result",
            })
    void whatOnlyReadsMayBeRunAgain(String method) {
        assertThat(backend.mayBeRerun(request(method, "{}"), NOBODY)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "initialize",
                "logging/setLevel",
                "resources/subscribe",
                "resources/unsubscribe",
                "tasks/cancel",
                "tools/call",
                "tools/lis",
                "x/ping",
                ""
            })
    void nothingElseMay(String method) {
        list(NOBODY, readOnly("t"));

        assertThat(backend.mayBeRerun(request(method, "{\"names\":\"t\",\"name\":[\"t\"]}"), NOBODY))
                .isFalse();
    }

    @Test
    void whileThereAreConnectionsToAServerBeforeBothMustCallAToolHarmless() {
        BackendConnection before = open(NOBODY);
        list(NOBODY, readOnly("both"));
        backend.renew();
        assertThat(harmless(NOBODY, "both")).isFalse();

        list(NOBODY, readOnly("both"), readOnly("late"));

        assertThat(harmless(NOBODY, "both")).isTrue();
        assertThat(harmless(NOBODY, "late")).isFalse();
        before.close();
    }

    @Test
    void whatIsNoListPassesUntouched() {
        BackendConnection connection = open(NOBODY);
        Way way = new Way();
        InboundMessage call = calling("t");
        InboundMessage note = new InboundMessage(
                InboundMessage.Kind.NOTIFICATION,
                null,
                "notifications/initialized",
                message("\"method\":\"notifications/initialized\""),
                new JournalChange.None(),
                InboundMessage.NO_CONTEXT);

        connection.call(call, way);
        connection.notify(note);
        connection.answer(call);
        connection.close();

        assertThat(inner.sinks).containsExactly(way);
        assertThat(inner.messages).containsExactly(call, note, call);
        assertThat(inner.closed).isTrue();
    }

    @Test
    void aListHasEveryOtherWayOfACall() {
        Way way = new Way();
        open(NOBODY).call(request("tools/list", "{}"), way);
        CallSink overheard = inner.sinks.get(0);
        CallSink.CancelHook hook = notification -> {};

        overheard.onCancel(hook);
        overheard.disconnect(Duration.ofSeconds(2));

        assertThat(way.hook).containsSame(hook);
        assertThat(way.disconnects).containsExactly(Duration.ofSeconds(2));
        assertThat(overheard.sessionId()).isEqualTo("session");
    }

    @Test
    void anOpeningIsThatOfTheBackend() {
        Backend.OpenRequest request = new Backend.OpenRequest(request("initialize", "{}"), NOBODY, "life 1", false);
        Backend.Opened opened = (Backend.Opened) backend.open(request, new UnheardListening(""))
                .toCompletableFuture()
                .join();
        assertThat(opened.response()).isSameAs(((Backend.Opened) inner.outcome).response());
        assertThat(opened.sessionId()).hasValue("proposed");
        assertThat(opened.revision()).isEqualTo("2025-11-25");

        for (Backend.Outcome none :
                List.of(new Backend.Refused(response("{}")), new Backend.Unreachable(response("{}"), "it is away"))) {
            inner.outcome = none;
            assertThat(backend.open(request, new UnheardListening(""))
                            .toCompletableFuture()
                            .join())
                    .isSameAs(none);
        }
    }
}
