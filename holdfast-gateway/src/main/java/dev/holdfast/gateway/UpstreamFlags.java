package dev.holdfast.gateway;

import dev.holdfast.gateway.upstream.ForwardedHeaders;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
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
        for (String name : forwarded) {
            if (!ForwardedHeaders.canBe(name)) {
                throw new IllegalArgumentException(
                        "--forward-header must be a header that is the client's own, such as Authorization, not "
                                + (name.isEmpty() ? "empty" : name));
            }
        }
        return Optional.of(new ServerChoice.Upstream(parsed(url.get()), distinct()));
    }

    /** Each name once, however it is written. */
    private List<String> distinct() {
        Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        names.addAll(forwarded);
        return List.copyOf(names);
    }

    /** Whether headers of requests are forwarded. */
    boolean forwards() {
        return !forwarded.isEmpty();
    }

    private static URI parsed(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            if (http && url.getHost() != null && url.getRawUserInfo() == null && url.getRawFragment() == null) {
                return url;
            }
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(wrong(text), e);
        }
        throw new IllegalArgumentException(wrong(text));
    }

    private static String wrong(String text) {
        return "--upstream must be as in https://mcp.example/mcp, not " + (text.isEmpty() ? "empty" : text);
    }
}
