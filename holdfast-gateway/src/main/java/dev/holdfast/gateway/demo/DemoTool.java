package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import reactor.core.publisher.Mono;

/**
 * A tool of the demo server. Arguments that break the rules of a parameter are answered with a tool error that names
 * every fault; the handler sees only good ones, once per call.
 */
record DemoTool(
        String name,
        String description,
        ToolAnnotations hints,
        List<DemoParameter> parameters,
        Function<DemoCall, Mono<CallToolResult>> handler) {
    /** For tools that change nothing: calling them again does no harm. */
    static final ToolAnnotations READS = ToolAnnotations.builder()
            .readOnlyHint(true)
            .idempotentHint(true)
            .openWorldHint(false)
            .build();

    /** For tools that leave a trace: a message sent, a question asked, a run counted. */
    static final ToolAnnotations ACTS = ToolAnnotations.builder()
            .readOnlyHint(false)
            .destructiveHint(false)
            .idempotentHint(false)
            .openWorldHint(false)
            .build();

    /** This tool as the SDK wants it. */
    AsyncToolSpecification specification() {
        return AsyncToolSpecification.builder()
                .tool(Tool.builder(name, schema())
                        .description(description)
                        .annotations(hints)
                        .build())
                .callHandler((exchange, request) -> Mono.defer(() -> answer(exchange, request)))
                .build();
    }

    private Map<String, Object> schema() {
        Map<String, Object> properties = new LinkedHashMap<>();
        parameters.forEach(parameter -> properties.put(parameter.name(), parameter.schema()));
        Map<String, Object> schema = new LinkedHashMap<>();
        schema.put("type", "object");
        schema.put("properties", properties);
        schema.put("required", parameters.stream().map(DemoParameter::name).toList());
        return schema;
    }

    private Mono<CallToolResult> answer(McpAsyncServerExchange exchange, CallToolRequest request) {
        Map<String, Object> arguments = argumentsOf(request);
        String faults = parameters.stream()
                .flatMap(parameter -> parameter.fault(arguments.get(parameter.name())).stream())
                .collect(Collectors.joining("; "));
        return faults.isEmpty()
                ? handler.apply(new DemoCall(exchange, arguments, Optional.ofNullable(request.progressToken())))
                : Mono.just(DemoAnswer.error(name + ": " + faults));
    }

    /** The arguments of a call; none is the same as an empty object. */
    static Map<String, Object> argumentsOf(CallToolRequest request) {
        return request.arguments() == null ? Map.of() : request.arguments();
    }
}
