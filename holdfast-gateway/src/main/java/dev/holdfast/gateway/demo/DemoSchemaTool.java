package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.schema.JsonSchemaValidator;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.Map;
import reactor.core.publisher.Mono;

/** Conformance fixture: a tool whose schema must reach the client as it stands here (SEP-1613). */
final class DemoSchemaTool {
    private static final String NAME = "json_schema_2020_12_tool";

    private DemoSchemaTool() {}

    static AsyncToolSpecification specification() {
        Map<String, Object> schema = DemoJson.object("""
                {
                  "$schema": "https://json-schema.org/draft/2020-12/schema",
                  "type": "object",
                  "$defs": {
                    "address": {
                      "type": "object",
                      "properties": {
                        "street": {"type": "string"},
                        "city": {"type": "string"}
                      }
                    }
                  },
                  "properties": {
                    "name": {"type": "string"},
                    "address": {"$ref": "#/$defs/address"}
                  },
                  "additionalProperties": false
                }
                """);
        JsonSchemaValidator validator = McpJsonDefaults.getSchemaValidator();
        return AsyncToolSpecification.builder()
                .tool(Tool.builder(NAME, schema)
                        .description("Returns its input; described with JSON Schema 2020-12.")
                        .annotations(DemoTool.READS)
                        .build())
                .callHandler((exchange, request) -> Mono.fromSupplier(() -> answer(schema, validator, request)))
                .build();
    }

    private static CallToolResult answer(
            Map<String, Object> schema, JsonSchemaValidator validator, CallToolRequest request) {
        Map<String, Object> arguments = DemoTool.argumentsOf(request);
        JsonSchemaValidator.ValidationResponse verdict = validator.validate(schema, arguments);
        return verdict.valid()
                ? DemoAnswer.text("Called with " + DemoJson.text(arguments))
                : DemoAnswer.error(NAME + ": " + verdict.errorMessage());
    }
}
