package dev.holdfast.spring.properties;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is served where, and how it is kept alive: by {@code holdfast.*}, else as Spring AI says, else by default.
 *
 * @param mcp the path of Streamable HTTP
 * @param sse the path of the GET of HTTP+SSE
 * @param message the path that clients of HTTP+SSE POST to
 * @param base what stands before that path in what they are told
 * @param deletable whether clients may end their sessions
 * @param keepAlive how often clients that listen are pinged; never unless it is there
 */
record Paths(
        Setting<String> mcp,
        Setting<String> sse,
        Setting<String> message,
        Setting<String> base,
        boolean deletable,
        Optional<Setting<Duration>> keepAlive) {
    private static final Duration PLAIN_KEEP_ALIVE = Duration.ofMinutes(30);

    static Paths of(HoldfastProperties properties, Optional<SpringAiServer> springAi) {
        HoldfastProperties.Sse sse = properties.sse();
        return new Paths(
                first("mcp-endpoint", properties.mcpEndpoint(), springAi.flatMap(SpringAiServer::mcpEndpoint), "/mcp"),
                first("sse.endpoint", sse.endpoint(), springAi.map(SpringAiServer::sseEndpoint), "/sse"),
                first(
                        "sse.message-endpoint",
                        sse.messageEndpoint(),
                        springAi.map(SpringAiServer::messageEndpoint),
                        "/message"),
                first("sse.base-url", sse.baseUrl(), springAi.flatMap(SpringAiServer::baseUrl), ""),
                !first(
                                "disallow-delete",
                                properties.disallowDelete(),
                                springAi.flatMap(SpringAiServer::disallowDelete),
                                false)
                        .value(),
                keepAlive(properties, springAi));
    }

    private static Optional<Setting<Duration>> keepAlive(
            HoldfastProperties properties, Optional<SpringAiServer> springAi) {
        Duration otherwise = springAi.isPresent() ? Duration.ZERO : PLAIN_KEEP_ALIVE;
        Setting<Duration> interval = first(
                "keep-alive-interval",
                properties.keepAliveInterval(),
                springAi.flatMap(SpringAiServer::keepAliveInterval),
                otherwise);
        return Optional.of(interval).filter(set -> !set.value().isZero());
    }

    private static <T> Setting<T> first(String name, @Nullable T own, Optional<Setting<T>> springAi, T otherwise) {
        String property = "holdfast." + name;
        return own == null ? springAi.orElse(new Setting<>(property, otherwise)) : new Setting<>(property, own);
    }
}
