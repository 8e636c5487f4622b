package dev.holdfast.micrometer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.json.AnswerFacts;
import dev.holdfast.micrometer.McpCallContext.Outcome;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class McpCallConventionTest {
    private static final Pattern ROW = Pattern.compile("^\\| (`.*`) \\| (metric, span|span) \\|", Pattern.MULTILINE);
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");

    private final McpCallConvention convention = new McpCallConvention();

    private static McpCallContext call(String method, String params) {
        return call("2025-11-25", method, params);
    }

    private static Session session(String revision) {
        return (Session) Proxy.newProxyInstance(
                Session.class.getClassLoader(),
                new Class<?>[] {Session.class},
                (proxy, method, arguments) -> method.getName().equals("revision") ? revision : "12345678");
    }

    private static McpCallContext call(String revision, String method, String params) {
        byte[] bytes = ("{\"method\":\"" + method + "\",\"params\":" + params + "}").getBytes(UTF_8);
        InboundMessage request = new InboundMessage(
                InboundMessage.Kind.REQUEST,
                new RequestId("\"7\""),
                method,
                bytes,
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
        return new McpCallContext(session(revision), request, ObservationRegistry.NOOP);
    }

    @Test
    void thePageNamesEveryAttribute() throws IOException {
        McpCallContext tool = call("tools/call", "{\"name\":\"weather\"}");
        McpCallContext prompt = call("prompts/get", "{\"name\":\"greeting\"}");
        McpCallContext resource = call("resources/read", "{\"uri\":\"file:///a\"}");
        tool.over(Outcome.ERROR, new AnswerFacts(Optional.of("-1"), Optional.of("no"), false));
        Set<String> metric = new TreeSet<>();
        Set<String> span = new TreeSet<>();
        for (McpCallContext each : Set.of(tool, prompt, resource)) {
            convention.getLowCardinalityKeyValues(each).stream()
                    .map(KeyValue::getKey)
                    .forEach(metric::add);
            convention.getHighCardinalityKeyValues(each).stream()
                    .map(KeyValue::getKey)
                    .forEach(span::add);
        }

        Set<String> metricTold = new TreeSet<>();
        Set<String> spanTold = new TreeSet<>();
        ROW.matcher(Files.readString(Path.of("../docs/metrics.md")))
                .results()
                .forEach(row -> CODE.matcher(row.group(1))
                        .results()
                        .forEach(key -> (row.group(2).equals("span") ? spanTold : metricTold).add(key.group(1))));
        assertThat(metricTold).isEqualTo(metric);
        assertThat(spanTold).isEqualTo(span);
    }

    @Test
    void aSpanIsNamedByMethodAndTool() {
        assertThat(convention.getContextualName(call("tools/call", "{\"name\":\"weather\"}")))
                .isEqualTo("tools/call weather");
        assertThat(convention.getContextualName(call("resources/read", "{\"uri\":\"file:///a\"}")))
                .isEqualTo("resources/read");
        assertThat(convention.getContextualName(call("tools/call", "{}"))).isEqualTo("tools/call");
        assertThat(convention.getContextualName(call("made/up", "{}"))).isEqualTo("other");
    }

    /** Peers may agree on any text, and a registry keeps each for ever. */
    @ParameterizedTest
    @CsvSource({
        "2025-11-25,2025-11-25",
        "2025-06-18,2025-06-18",
        "2025-03-26,2025-03-26",
        "2024-11-05,2024-11-05",
        "'',other",
        "2025-11-26,other",
        "made up,other"
    })
    void aRevisionThatIsNoneIsTaggedAsOther(String revision, String tag) {
        assertThat(convention.getLowCardinalityKeyValues(call(revision, "tools/call", "{}")))
                .contains(KeyValue.of("mcp.protocol.version", tag));
    }

    @Test
    void theTagsOfTheMetricAreTheSameForEveryCall() {
        McpCallContext tool = call("tools/call", "{\"name\":\"weather\"}");
        McpCallContext madeUp = call("made/up", "{}");
        tool.over(Outcome.OK, AnswerFacts.done());
        madeUp.over(Outcome.LOST, AnswerFacts.done());

        assertThat(convention.getLowCardinalityKeyValues(tool).stream().map(KeyValue::getKey))
                .containsExactlyElementsOf(convention.getLowCardinalityKeyValues(madeUp).stream()
                        .map(KeyValue::getKey)
                        .toList());
        assertThat(convention.getHighCardinalityKeyValues(madeUp))
                .contains(KeyValue.of("error.type", "session_ended"), KeyValue.of("jsonrpc.request.id", "7"));
    }
}
