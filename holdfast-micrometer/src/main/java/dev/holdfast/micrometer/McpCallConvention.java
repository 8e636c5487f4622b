package dev.holdfast.micrometer;

import dev.holdfast.micrometer.McpCallContext.Outcome;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How a request is named: by the semantic conventions of OpenTelemetry for the server side of MCP. The keys of low cardinality become
 * tags of the metric; tools, prompts and resources have names that a client chooses, so that they are on spans only. The session's
 * id is cut to eight characters, for the whole is a credential.
 *
 * @see <a href="https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/">Semantic conventions for MCP</a>
 */
public class McpCallConvention implements ObservationConvention<McpCallContext> {
    /** The name of the observation and of the metric. */
    public static final String NAME = "mcp.server.operation.duration";

    private static final String TOOL = "tools/call";
    private static final String PROMPT = "prompts/get";
    private static final KeyValue TRANSPORT = KeyValue.of("network.transport", "tcp");
    private static final KeyValue EXECUTES_TOOL = KeyValue.of("gen_ai.operation.name", "execute_tool");

    /** The convention as it is by default. */
    public McpCallConvention() {}

    @Override
    public String getName() {
        return NAME;
    }

    @Override
    public String getContextualName(McpCallContext call) {
        String method = Tags.method(call.method());
        boolean named = method.equals(TOOL) || method.equals(PROMPT);
        return named ? call.name().map(name -> method + " " + name).orElse(method) : method;
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
        return context instanceof McpCallContext;
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(McpCallContext call) {
        List<KeyValue> all = new ArrayList<>(4);
        all.add(KeyValue.of("mcp.method.name", Tags.method(call.method())));
        all.add(KeyValue.of("mcp.protocol.version", Tags.revision(call.revision())));
        all.add(TRANSPORT);
        call.outcome().ifPresent(outcome -> all.add(KeyValue.of("outcome", Tags.of(outcome))));
        return KeyValues.of(all);
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(McpCallContext call) {
        List<KeyValue> all = new ArrayList<>();
        all.add(KeyValue.of("jsonrpc.request.id", call.requestId()));
        all.add(KeyValue.of("mcp.session.id", call.shortSessionId()));
        if (call.method().equals(TOOL)) {
            all.add(EXECUTES_TOOL);
            add("gen_ai.tool.name", call.name(), all);
        } else if (call.method().equals(PROMPT)) {
            add("gen_ai.prompt.name", call.name(), all);
        }
        add("mcp.resource.uri", call.uri(), all);
        add("rpc.response.status_code", call.answer().code(), all);
        add("error.type", errorType(call), all);
        return KeyValues.of(all);
    }

    private static Optional<String> errorType(McpCallContext call) {
        if (call.answer().toolError()) {
            return Optional.of("tool_error");
        }
        boolean lost = call.outcome().filter(Outcome.LOST::equals).isPresent();
        return lost ? Optional.of("session_ended") : call.answer().code();
    }

    private static void add(String key, Optional<String> value, List<KeyValue> to) {
        value.ifPresent(known -> to.add(KeyValue.of(key, known)));
    }
}
