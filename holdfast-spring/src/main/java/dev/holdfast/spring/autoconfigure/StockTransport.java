package dev.holdfast.spring.autoconfigure;

import dev.holdfast.spring.properties.SpringAiServer;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/** Which transport the application would have without Holdfast, and whether Holdfast takes its place. */
enum StockTransport {
    /** None: Spring AI has no MCP server here, and a server of the plain SDK takes the transport it is given. */
    NONE,
    /** A transport of Spring AI that Holdfast takes the place of. */
    REPLACED,
    /**
     * What there is stays: a transport over stdio, a stateless or reactive one, HTTP+SSE where that is not asked for, none of a
     * server that is disabled, or whatever it is where Holdfast is disabled.
     */
    KEPT;

    /** The auto-configurations of Spring AI that make a transport Holdfast can take the place of. */
    static final String STREAMABLE =
            "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration";

    static final String SSE =
            "org.springframework.ai.mcp.server.webmvc.autoconfigure.McpServerSseWebMvcAutoConfiguration";

    /** The same two in Spring AI 1.1. */
    static final String STREAMABLE_1 =
            "org.springframework.ai.mcp.server.autoconfigure.McpServerStreamableHttpWebMvcAutoConfiguration";

    static final String SSE_1 = "org.springframework.ai.mcp.server.autoconfigure.McpServerSseWebMvcAutoConfiguration";

    /** The auto-configuration that makes Spring AI's MCP server, whatever its transport. */
    static final String SERVER = "org.springframework.ai.mcp.server.common.autoconfigure.McpServerAutoConfiguration";

    static StockTransport of(Environment environment, @Nullable ClassLoader classes) {
        if (!environment.getProperty("holdfast.enabled", Boolean.class, true)) {
            return KEPT;
        }
        if (!ClassUtils.isPresent(SERVER, classes)) {
            return NONE;
        }
        SpringAiServer server = new SpringAiServer(environment);
        boolean webMvc = ClassUtils.isPresent(STREAMABLE, classes) || ClassUtils.isPresent(STREAMABLE_1, classes);
        if (!server.servesHttp() || !webMvc) {
            return KEPT;
        }
        return switch (server.protocol()) {
            case "STREAMABLE" -> REPLACED;
            case "SSE" -> sseIsAskedFor(environment) ? REPLACED : KEPT;
            default -> KEPT;
        };
    }

    private static boolean sseIsAskedFor(Environment environment) {
        return environment.getProperty("holdfast.sse.enabled", Boolean.class, false);
    }
}
