package dev.holdfast.mcp;

import dev.holdfast.Lifetime;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import io.modelcontextprotocol.spec.ProtocolVersions;
import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** The edge's options on their way: a base, and single knobs that win over it whichever is set first. */
final class EdgeKnobs {
    private static final List<String> STREAMABLE =
            List.of(ProtocolVersions.MCP_2025_03_26, ProtocolVersions.MCP_2025_06_18, ProtocolVersions.MCP_2025_11_25);
    private static final List<String> WITH_HTTP_SSE = Stream.concat(
                    Stream.of(ProtocolVersions.MCP_2024_11_05), STREAMABLE.stream())
            .toList();

    private final List<UnaryOperator<EdgeOptions>> knobs = new ArrayList<>();
    private EdgeOptions options = EdgeOptions.DEFAULT;

    /** The base with every knob applied to it, and what is attached to the messages of a request. */
    EdgeOptions options(Function<HttpServletRequest, Object> context) {
        return options.toBuilder().context(context).build();
    }

    /** The protocol revisions that these options serve. */
    List<String> protocolVersions() {
        return options.httpSse().isPresent() ? WITH_HTTP_SSE : STREAMABLE;
    }

    /** The paths that these options serve beside the endpoint's. */
    Stream<String> paths() {
        return options.httpSse().stream().flatMap(sse -> Stream.of(sse.path(), sse.messagePath()));
    }

    /** Throws if a path of HTTP+SSE could be taken for the endpoint's. */
    void requireDistinctPaths(String mcpEndpoint) {
        if (options.httpSse().filter(sse -> sse.conflictsWith(mcpEndpoint)).isPresent()) {
            throw new IllegalArgumentException(
                    "mcpEndpoint " + mcpEndpoint + " and the paths of HTTP+SSE must not end with one another");
        }
    }

    /** Sets the base. */
    void base(EdgeOptions base) {
        options = base;
        knobs.forEach(knob -> options = knob.apply(options));
    }

    /** Sets single knobs. */
    void set(UnaryOperator<EdgeOptions.Builder> change) {
        add(base -> change.apply(base.toBuilder()).build());
    }

    void lifetime(UnaryOperator<Lifetime> change) {
        add(base -> base.toBuilder().lifetime(change.apply(base.lifetime())).build());
    }

    void httpSse(UnaryOperator<HttpSseOptions> change) {
        add(base -> base.toBuilder()
                .httpSse(Optional.of(change.apply(base.httpSse().orElse(HttpSseOptions.DEFAULT))))
                .build());
    }

    private void add(UnaryOperator<EdgeOptions> knob) {
        options = knob.apply(options);
        knobs.add(knob);
    }
}
