package dev.holdfast.gateway;

import dev.holdfast.gateway.http.ServedPath;
import dev.holdfast.servlet.HttpSseOptions;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that concern HTTP+SSE. */
final class SseFlags {
    private static final String DEFAULT = " (default: ${DEFAULT-VALUE})";
    private static final Pattern BASE =
            Pattern.compile("(https?://(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:\\d{1,5})?)?(/[A-Za-z0-9._~-]+)*+");

    @Option(
            names = "--sse-path",
            paramLabel = "PATH",
            defaultValue = "/sse",
            description = "path of HTTP+SSE, for clients of 2024-11-05" + DEFAULT)
    private String ssePath = "";

    @Option(
            names = "--message-path",
            paramLabel = "PATH",
            defaultValue = "/message",
            description = "path that clients of HTTP+SSE post to" + DEFAULT)
    private String messagePath = "";

    @Option(
            names = "--sse-reconnect-grace",
            paramLabel = "TIME",
            defaultValue = "0",
            converter = ServeFlags.Time.class,
            description = "the same as --reconnect-grace, for HTTP+SSE" + DEFAULT)
    private Duration sseGrace = Duration.ZERO;

    @Option(names = "--no-sse", description = "do not serve HTTP+SSE")
    private boolean noSse;

    @Option(
            names = "--base-url",
            paramLabel = "URL",
            description = "what stands before --message-path where clients of HTTP+SSE are told to post to: the public"
                    + " address of this server behind a proxy that strips a prefix, as https://mcp.example/tools or"
                    + " /tools; by default its X-Forwarded-Prefix")
    private Optional<String> baseUrl = Optional.empty();

    /**
     * What they say, checked; empty if HTTP+SSE is not served.
     *
     * @param mcp the path of the other transport
     * @throws IllegalArgumentException names the first that is wrong
     */
    Optional<HttpSseOptions> options(String mcp) {
        if (noSse) {
            if (baseUrl.isPresent()) {
                throw new IllegalArgumentException("--base-url is for HTTP+SSE, which --no-sse switches off");
            }
            return Optional.empty();
        }
        ServedPath.checked("--sse-path", ssePath);
        ServedPath.checked("--message-path", messagePath);
        String all = "none of --path, --sse-path and --message-path may end with another (or use --no-sse)";
        if (ssePath.endsWith(messagePath) || messagePath.endsWith(ssePath)) {
            throw new IllegalArgumentException(all);
        }
        HttpSseOptions sse = HttpSseOptions.DEFAULT.withPaths(ssePath, messagePath);
        if (!mcp.equals("/") && sse.conflictsWith(mcp)) {
            throw new IllegalArgumentException(all);
        }
        return Optional.of(sse.withReconnectGrace(
                        ServeFlags.range("--sse-reconnect-grace", sseGrace, Duration.ZERO, ServeFlags.YEAR))
                .withBase(base()));
    }

    private String base() {
        baseUrl.ifPresent(base -> {
            if (base.isEmpty() || !BASE.matcher(base).matches() || ServedPath.hasDots(base)) {
                throw new IllegalArgumentException(
                        "--base-url must be as in https://mcp.example/tools or /tools, without '/' at its end, not "
                                + (base.isEmpty() ? "empty" : base));
            }
        });
        return baseUrl.orElse("");
    }
}
