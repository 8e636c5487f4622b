package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** What a tool answered, if it answered with one text. */
record DemoTestAnswer(String text, boolean isError) {
    /** Reads the answer from the last message of a call's stream. */
    static DemoTestAnswer of(List<Map<String, Object>> stream) {
        Map<String, Object> response = stream.get(stream.size() - 1);
        Object result = Objects.requireNonNull(response.get("result"), response::toString);
        CallToolResult answer = McpJsonDefaults.getMapper().convertValue(result, CallToolResult.class);
        return new DemoTestAnswer(((TextContent) answer.content().get(0)).text(), answer.isError());
    }
}
