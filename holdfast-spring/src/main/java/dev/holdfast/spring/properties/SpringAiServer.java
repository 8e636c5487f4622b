package dev.holdfast.spring.properties;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/**
 * What the properties {@code spring.ai.mcp.server.*} say of the transport. They are read by their names and not through Spring AI's
 * classes, which do not have to be there.
 */
public final class SpringAiServer {
    private static final String PREFIX = "spring.ai.mcp.server";

    private final Binder binder;

    /** Reads from an environment, each time anew. */
    public SpringAiServer(Environment environment) {
        this.binder = Binder.get(environment);
    }

    /** Whether the server is there. */
    public boolean isEnabled() {
        return get("enabled", Boolean.class).orElse(true);
    }

    /** Whether it talks over its standard input and output. */
    public boolean isStdio() {
        return get("stdio", Boolean.class).orElse(false);
    }

    /** The protocol, {@code SSE} unless another is named. */
    public String protocol() {
        return get("protocol", String.class).orElse("SSE").toUpperCase(Locale.ROOT);
    }

    /** Whether handlers run on the threads of their requests: Spring AI has those of a synchronous server do so in a servlet container. */
    boolean executesImmediately() {
        return get("type", String.class).orElse("SYNC").equalsIgnoreCase("SYNC");
    }

    /** How often clients are pinged, by the properties of the protocol that is served. */
    Optional<Setting<Duration>> keepAliveInterval() {
        return setting(
                protocol().equals("SSE") ? "keep-alive-interval" : "streamable-http.keep-alive-interval",
                Duration.class);
    }

    /** What clients of HTTP+SSE put before the path they POST to; Spring AI takes a slash at its end too. */
    Optional<Setting<String>> baseUrl() {
        return setting("base-url", String.class)
                .map(base -> new Setting<>(base.property(), base.value().replaceFirst("/+$", "")));
    }

    /** One of its properties, where that is set. */
    <T> Optional<Setting<T>> setting(String name, Class<T> type) {
        return get(name, type).map(value -> new Setting<>(PREFIX + "." + name, value));
    }

    private <T> Optional<T> get(String name, Class<T> type) {
        return Optional.ofNullable(binder.bind(PREFIX + "." + name, type).orElse(null));
    }
}
