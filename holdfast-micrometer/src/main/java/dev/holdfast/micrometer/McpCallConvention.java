package dev.holdfast.micrometer;

import dev.holdfast.micrometer.McpCallContext.Outcome;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
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
        KeyValues known = KeyValues.of(
                "mcp.method.name", Tags.method(call.method()),
                "mcp.protocol.version", Tags.revision(call.revision()),
                "network.transport", "tcp");
        return call.outcome()
                .map(outcome -> known.and("outcome", Tags.of(outcome)))
                .orElse(known);
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(McpCallContext call) {
        KeyValues all = KeyValues.of("jsonrpc.request.id", call.requestId(), "mcp.session.id", call.shortSessionId());
        if (call.method().equals(TOOL)) {
            all = all.and("gen_ai.operation.name", "execute_tool").and(of("gen_ai.tool.name", call.name()));
        } else if (call.method().equals(PROMPT)) {
            all = all.and(of("gen_ai.prompt.name", call.name()));
        }
        return all.and(of("mcp.resource.uri", call.uri()))
                .and(of("rpc.response.status_code", call.answer().code()))
                .and(of("error.type", errorType(call)));
    }

    private static Optional<String> errorType(McpCallContext call) {
        if (call.answer().toolError()) {
            return Optional.of("tool_error");
        }
        boolean lost = call.outcome().filter(Outcome.LOST::equals).isPresent();
        return lost ? Optional.of("session_ended") : call.answer().code();
    }

    private static KeyValues of(String key, Optional<String> value) {
        return value.map(known -> KeyValues.of(KeyValue.of(key, known))).orElseGet(KeyValues::empty);
    }
}
