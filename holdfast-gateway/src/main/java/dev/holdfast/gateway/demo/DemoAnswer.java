package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Content;

/** What the demo tools answer with. */
final class DemoAnswer {
    private DemoAnswer() {}

    /** A successful answer of one text. */
    static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }

    /** A successful answer of several parts. */
    static CallToolResult of(Content... parts) {
        CallToolResult.Builder answer = CallToolResult.builder();
        for (Content part : parts) {
            answer.addContent(part);
        }
        return answer.build();
    }

    /** A tool error: the call arrived and was understood, but could not be done. */
    static CallToolResult error(String reason) {
        return CallToolResult.builder().addTextContent(reason).isError(true).build();
    }
}
