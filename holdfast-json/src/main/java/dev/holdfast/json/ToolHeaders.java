package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * The arguments of tools that a call repeats in its headers, as the tools' schemas say by {@code x-mcp-header}; of the tools that were
 * listed. Safe for use by any thread.
 *
 * @see <a href=
 *     "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters">
 *     MCP 2026-07-28, custom headers from tool parameters</a>
 */
public final class ToolHeaders {
    private static final String MEMBER = "x-mcp-header";
    private static final int MOST_TOOLS = 10_000;
    private static final int MOST_DEPTH = 20;

    private final Map<String, List<Argument>> byTool = new ConcurrentHashMap<>();

    /** Knows no tools yet. */
    public ToolHeaders() {
        // nothing is known
    }

    /** An argument, by the names on the way to it, and its header. */
    private record Argument(String header, List<String> path) {}

    /** Learns from a response to {@code tools/list}, or from a page of it. */
    public void learn(byte[] response) {
        boolean concerns = !byTool.isEmpty() || new String(response, UTF_8).contains(MEMBER);
        if (!concerns) {
            return;
        }
        for (byte[] tool : JsonPeek.elements(response, "result", "tools")) {
            List<Argument> arguments = new ArrayList<>();
            collect(tool, List.of("inputSchema"), List.of(), arguments);
            JsonPeek.string(tool, "name").ifPresent(name -> {
                if (arguments.isEmpty()) {
                    byTool.remove(name);
                } else if (byTool.size() < MOST_TOOLS) {
                    byTool.put(name, List.copyOf(arguments));
                }
            });
        }
    }

    private static void collect(byte[] tool, List<String> schema, List<String> path, List<Argument> into) {
        List<String> properties = plus(schema, "properties");
        for (String name :
                JsonPeek.members(tool, properties.toArray(String[]::new)).keySet()) {
            List<String> property = plus(properties, name);
            List<String> argument = plus(path, name);
            JsonPeek.string(tool, plus(property, MEMBER).toArray(String[]::new))
                    .ifPresent(header -> into.add(new Argument("Mcp-Param-" + header, argument)));
            if (argument.size() < MOST_DEPTH) {
                collect(tool, property, argument, into);
            }
        }
    }

    private static List<String> plus(List<String> path, String name) {
        List<String> longer = new ArrayList<>(path);
        longer.add(name);
        return longer;
    }

    /**
     * Returns the name of a header that does not say what a call says; empty where there is none.
     *
     * @param headers the value of a header, decoded; empty where it is missing
     */
    public Optional<String> different(Envelope call, Function<String, Optional<String>> headers) {
        for (Argument argument : arguments(call)) {
            if (!same(headers.apply(argument.header), said(call, argument))) {
                return Optional.of(argument.header);
            }
        }
        return Optional.empty();
    }

    /** The headers that a call has to have, by their names; the values are not encoded. */
    Map<String, String> of(Envelope call) {
        Map<String, String> headers = new LinkedHashMap<>();
        for (Argument argument : arguments(call)) {
            said(call, argument).ifPresent(value -> headers.put(argument.header, value));
        }
        return headers;
    }

    private List<Argument> arguments(Envelope call) {
        return call.name().map(byTool::get).orElse(List.of());
    }

    private static Optional<String> said(Envelope call, Argument argument) {
        List<String> names = new ArrayList<>(List.of("params", "arguments"));
        names.addAll(argument.path);
        String[] path = names.toArray(String[]::new);
        return JsonPeek.raw(call.bytes(), path)
                .filter(value -> !value.equals("null"))
                .map(value -> value.startsWith("\"")
                        ? JsonPeek.string(call.bytes(), path).orElse("")
                        : value);
    }

    private static boolean same(Optional<String> header, Optional<String> said) {
        if (header.equals(said)) {
            return true;
        }
        try {
            return header.isPresent()
                    && said.isPresent()
                    && new BigDecimal(header.get()).compareTo(new BigDecimal(said.get())) == 0;
        } catch (NumberFormatException e) {
            return false;
        }
    }
}
