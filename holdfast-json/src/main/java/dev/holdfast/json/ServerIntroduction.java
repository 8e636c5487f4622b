package dev.holdfast.json;

import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a server of a legacy revision says of itself in its answer to {@code initialize}; each as JSON without white space.
 *
 * @param serverInfo who it is; empty where it does not say
 * @param capabilities what it can do, and the tasks that are made of its calls
 * @param instructions how to use it; empty where it does not say
 */
public record ServerIntroduction(String serverInfo, String capabilities, String instructions) {
    /** What is served for it, whatever it says of that. */
    private static final Set<String> NOT_ITS_OWN = Set.of("tasks", "extensions");

    /** Reads a response to {@code initialize}. */
    public static ServerIntroduction of(byte[] response) {
        Map<String, String> capabilities = new TreeMap<>();
        JsonPeek.members(response, "result", "capabilities").forEach((name, value) -> {
            if (!NOT_ITS_OWN.contains(name)) {
                capabilities.put(JsonText.quoted(name), value);
            }
        });
        Map<String, String> extensions = new TreeMap<>();
        JsonPeek.members(response, "result", "capabilities", "extensions")
                .forEach((name, value) -> extensions.put(JsonText.quoted(name), value));
        extensions.put("\"io.modelcontextprotocol/tasks\"", "{}");
        capabilities.put("\"extensions\"", JsonPeek.object(extensions));
        return new ServerIntroduction(
                JsonPeek.json(response, "result", "serverInfo").orElse(""),
                JsonPeek.object(capabilities),
                JsonPeek.string(response, "result", "instructions")
                        .map(JsonText::quoted)
                        .orElse(""));
    }

    /**
     * The same as an answer to {@code server/discover}, but for what {@link ModernAnswer} adds to every answer.
     *
     * @param versions the revisions that are served without a session
     * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/server/discover">MCP 2026-07-28, discovery</a>
     */
    public byte[] discovered(RequestId id, List<String> versions) {
        String supported = versions.stream().collect(Collectors.joining("\",\"", "[\"", "\"]"));
        return JsonRpc.result(
                id,
                "{\"supportedVersions\":" + supported + ",\"capabilities\":" + capabilities
                        + (instructions.isEmpty() ? "" : ",\"instructions\":" + instructions) + "}");
    }
}
