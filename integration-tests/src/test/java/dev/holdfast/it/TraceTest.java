package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.micrometer.ObservedCalls;
import io.micrometer.observation.Observation;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** What OpenTelemetry is told of calls. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class TraceTest {
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String PARENT = "00-" + TRACE + "-00f067aa0ba902b7-01";
    private static final String OTHER_TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String OTHER_PARENT = "00-" + OTHER_TRACE + "-b7ad6b7169203331-01";

    /** By which a broken connection is noticed. */
    private static final Duration HEARTBEAT = Duration.ofMillis(200);

    private final ContainerKind kind;
    private final Traces traces = new Traces();
    private final CompletableFuture<Void> gate = new CompletableFuture<>();
    private final CompletableFuture<Void> detachSeen = new CompletableFuture<>();
    private final List<String> tracesOfHandlers = new CopyOnWriteArrayList<>();
    private TestServer server;
    private RawSession session;

    TraceTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(transport -> transport
                        .heartbeatInterval(HEARTBEAT)
                        .callListener(CallListener.all(List.of(new ObservedCalls(traces.registry()), untilDetached()))))
                .tool(
                        "slow",
                        (exchange, request) -> Tools.progress(exchange, request, 1)
                                .then(Mono.fromFuture(gate, true))
                                .then(Mono.just("done")))
                .tool("traced", (exchange, request) -> {
                    Observation current = traces.registry().getCurrentObservation();
                    tracesOfHandlers.add(current == null ? "none" : traces.traceId());
                    return Mono.just("traced");
                })
                .tool("failing", (exchange, request) -> Mono.error(new IllegalStateException("not my day")))
                .start();
        session = RawSession.open(server.port());
    }

    /** Hears of a detached stream after the span has noted it. */
    private CallListener untilDetached() {
        return (session, request) -> new CallWatch() {
            @Override
            public void detached() {
                detachSeen.complete(null);
            }
        };
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        traces.close();
    }

    private static String call(String id, String tool, String meta) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"tools/call\",\"params\":{\"name\":\"" + tool
                + "\",\"arguments\":{},\"_meta\":" + meta + "}}";
    }

    private void finish(RawRequest request) {
        try (RawConnection connection = session.stream(request)) {
            connection.messages();
        }
    }

    private SpanData only() {
        await().until(() -> traces.spans().size() == 1);
        return traces.spans().get(0);
    }

    private static String attribute(SpanData span, String key) {
        return String.valueOf(span.getAttributes().get(AttributeKey.stringKey(key)));
    }

    private static List<String> events(SpanData span) {
        return span.getEvents().stream().map(EventData::getName).toList();
    }

    @Test
    void aCallThatIsCutResumedAndFinishedIsOneTraceWithAnEventForEachAttach() {
        String meta = "{\"progressToken\":\"p\",\"traceparent\":\"" + PARENT + "\"}";
        RawConnection first = session.stream(session.post(call("7", "slow", meta)));
        Frame step = first.message();
        first.reset();
        await().until(detachSeen::isDone);
        try (RawConnection second = session.stream(session.get(step.id().orElseThrow()))) {
            second.frame();
            assertThat(traces.spans()).isEmpty();
            gate.complete(null);
            assertThat(second.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }

        SpanData span = only();
        assertThat(span.getTraceId()).isEqualTo(TRACE);
        assertThat(span.getParentSpanId()).isEqualTo("00f067aa0ba902b7");
        assertThat(span.getName()).isEqualTo("tools/call slow");
        assertThat(span.getKind()).isEqualTo(SpanKind.SERVER);
        assertThat(events(span)).containsExactly("mcp.stream.started", "mcp.stream.detached", "mcp.stream.resumed");
        assertThat(attribute(span, "mcp.method.name")).isEqualTo("tools/call");
        assertThat(attribute(span, "gen_ai.tool.name")).isEqualTo("slow");
        assertThat(attribute(span, "gen_ai.operation.name")).isEqualTo("execute_tool");
        assertThat(attribute(span, "jsonrpc.request.id")).isEqualTo("7");
        assertThat(attribute(span, "mcp.protocol.version")).isEqualTo(RawSession.NEWEST);
        assertThat(attribute(span, "network.transport")).isEqualTo("tcp");
        assertThat(attribute(span, "mcp.session.id")).isEqualTo(session.id().substring(0, 8));
        assertThat(attribute(span, "error.type")).isEqualTo("null");
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
    }

    @Test
    void theHeaderOfTheRequestIsTheParentWhereTheMessageNamesNone() {
        finish(session.post(call("8", "traced", "{}")).with("traceparent", OTHER_PARENT));

        assertThat(only().getTraceId()).isEqualTo(OTHER_TRACE);
        assertThat(tracesOfHandlers).containsExactly(OTHER_TRACE);
    }

    @Test
    void theMessageWinsOverTheHeader() {
        finish(session.post(call("9", "traced", "{\"traceparent\":\"" + PARENT + "\"}"))
                .with("traceparent", OTHER_PARENT));

        assertThat(only().getTraceId()).isEqualTo(TRACE);
    }

    @Test
    void withoutEitherATraceBegins() {
        finish(session.post("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}"));

        SpanData span = only();
        assertThat(span.getName()).isEqualTo("tools/list");
        assertThat(span.getParentSpanContext().isValid()).isFalse();
        assertThat(attribute(span, "jsonrpc.request.id")).isEqualTo("a");
        assertThat(attribute(span, "gen_ai.tool.name")).isEqualTo("null");
    }

    @Test
    void aJsonRpcErrorIsTheErrorOfItsSpan() {
        finish(session.post("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nobody/knows\"}"));

        SpanData span = only();
        assertThat(span.getName()).isEqualTo("other");
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(span.getStatus().getDescription()).isNotEmpty();
        assertThat(attribute(span, "error.type")).isEqualTo("-32601");
        assertThat(attribute(span, "rpc.response.status_code")).isEqualTo("-32601");
    }

    @Test
    void aToolThatFailsIsAnErrorToo() {
        finish(session.post(call("4", "failing", "{}")));

        SpanData span = only();
        assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
        assertThat(attribute(span, "error.type")).isIn("tool_error", "-32603");
    }

    @Test
    void aCancelledCallEndsItsSpan() {
        RawConnection connection = session.stream(session.post(call("5", "slow", "{\"progressToken\":\"p\"}")));
        connection.message();
        assertThat(session.status(session.post(Json.notification("notifications/cancelled", "{\"requestId\":5}"))))
                .isEqualTo(202);

        assertThat(attribute(only(), "outcome")).isEqualTo("cancelled");
        connection.close();
    }
}
