package org.springframework.ai.mcp.server.autoconfigure;

/** What Spring AI 1.0 is known by. */
public final class McpServerAutoConfiguration {
    private McpServerAutoConfiguration() {}
}
