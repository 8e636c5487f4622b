package dev.holdfast.gateway.demo;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import io.modelcontextprotocol.spec.McpSchema.ElicitRequest;
import java.util.Map;

/**
 * A form for the user, in place of the SDK's {@code ElicitFormRequest}: that one (mcp-core 2.1.0) declares its
 * {@code mode} both as a property and as a type id, which Jackson 3.2 refuses to write. Here it is a property only.
 *
 * @param message what to tell the user
 * @param requestedSchema the fields, as a JSON Schema
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NONE)
record DemoFormRequest(
        @JsonProperty String message, @JsonProperty Map<String, Object> requestedSchema) implements ElicitRequest {
    @Override
    @JsonProperty("mode")
    public String mode() {
        return "form";
    }

    @Override
    public Map<String, Object> meta() {
        return Map.of();
    }
}
