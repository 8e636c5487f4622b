package dev.holdfast.gateway;

import dev.holdfast.upstream.ForwardedHeaders;
import dev.holdfast.upstream.UpstreamBackend;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that concern a server behind a URL. */
final class UpstreamFlags {
    @Option(
            names = "--upstream",
            paramLabel = "URL",
            description =
                    "serve the MCP server at this URL, in the place of COMMAND: Streamable HTTP, or HTTP+SSE if it"
                            + " has nothing else")
    private Optional<String> url = Optional.empty();

    @Option(
            names = "--forward-header",
            paramLabel = "NAME",
            split = ",",
            description =
                    "headers of requests that the server at --upstream gets too, such as Authorization; by default"
                            + " none")
    private List<String> forwarded = new ArrayList<>();

    /**
     * What they say, checked; empty if there is no upstream.
     *
     * @throws IllegalArgumentException names the first that is wrong
     */
    Optional<ServerChoice> choice() {
        if (url.isEmpty()) {
            if (!forwarded.isEmpty()) {
                throw new IllegalArgumentException("--forward-header is for --upstream");
            }
            return Optional.empty();
        }
        return Optional.of(new ServerChoice.Upstream(parsed(url.get()), headers()));
    }

    private ForwardedHeaders headers() {
        try {
            return ForwardedHeaders.named(forwarded);
        } catch (IllegalArgumentException e) {
            String refusal = String.valueOf(e.getMessage());
            throw new IllegalArgumentException(
                    "--forward-header" + refusal.substring(refusal.indexOf(' ')).replace(", got ", ", not "), e);
        }
    }

    /** Whether headers of requests are forwarded. */
    boolean forwards() {
        return !forwarded.isEmpty();
    }

    private static URI parsed(String text) {
        try {
            URI url = new URI(text);
            UpstreamBackend.builder(url);
            return url;
        } catch (URISyntaxException | IllegalArgumentException e) {
            throw new IllegalArgumentException("--upstream must be as in https://mcp.example/mcp, not " + shown(text));
        }
    }

    private static String shown(String text) {
        if (text.matches("[^/?#]*//[^/?#]*@.*")) {
            return "one with a user or a password";
        }
        return text.isEmpty() ? "empty" : text;
    }
}
