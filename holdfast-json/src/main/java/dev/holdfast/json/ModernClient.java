package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A client of a legacy revision, as a server of 2026-07-28 gets to know it with each request. The counterpart of {@link ModernAnswer}.
 *
 * @param info who it is, as JSON
 * @param capabilities what it can do, and that a task may be made of its calls, as JSON
 * @param revision the legacy revision that it is told to speak
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic#meta">MCP 2026-07-28, _meta</a>
 */
public record ModernClient(String info, String capabilities, String revision) {
    /** The revision that the server is spoken to in. */
    public static final String REVISION = "2026-07-28";

    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final String META = "_meta";
    private static final byte[] EMPTY = {'{', '}'};
    private static final String PREFIX = "io.modelcontextprotocol/";
    private static final String TASKS = PREFIX + "tasks";
    private static final String UNNAMED = "{\"name\":\"unknown\",\"version\":\"unknown\"}";
    /** The latest of the legacy ones first. */
    private static final List<String> LEGACY = List.of("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05");

    /** What a header may be as it is. */
    private static final Pattern PLAIN = Pattern.compile("[!-~](?:[ -~]*[!-~])?");

    private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]+");
    private static final String ENCODED = "=?base64?";
    private static final String ENCODED_END = "?=";

    /** The client that has sent an {@code initialize}. */
    public static ModernClient of(Envelope initialize) {
        byte[] said = initialize.bytes();
        Map<String, String> capabilities = JsonPeek.members(said, "params", "capabilities");
        Map<String, String> extensions = JsonPeek.members(said, "params", "capabilities", "extensions");
        extensions.put(TASKS, "{}");
        capabilities.put("extensions", JsonParts.object(extensions));
        // those of revision 2025-11-25, which are others
        capabilities.remove("tasks");
        return new ModernClient(
                JsonPeek.raw(said, "params", "clientInfo").orElse(UNNAMED),
                JsonParts.object(capabilities),
                initialize.protocolVersion().filter(LEGACY::contains).orElse(LEGACY.get(0)));
    }

    /**
     * A request of the client's to the server.
     *
     * @param params its parameters, each as JSON; what is in their {@code _meta} goes along
     * @param logLevel from which level on the client wants to hear the log of it; empty for no log
     * @throws IllegalArgumentException if the parameters are no JSON that may be sent
     */
    public Envelope request(RequestId id, String method, Map<String, String> params, Optional<String> logLevel) {
        Map<String, String> all = new LinkedHashMap<>(params);
        all.put(META, meta(params.getOrDefault(META, "{}").getBytes(UTF_8), logLevel));
        return ENVELOPES.message(JsonRpc.request(id, method, JsonParts.object(all)));
    }

    /**
     * The same for a request that the client has sent, which may be large: its parameters are copied as bytes.
     *
     * @param more parameters in the place of, or beside, those of the request, each as JSON
     */
    public Envelope request(RequestId id, Envelope request, Map<String, String> more, Optional<String> logLevel) {
        byte[] bytes = request.bytes();
        Map<String, Span> params = new LinkedHashMap<>();
        JsonPeek.place(bytes, (member, value) -> {
            if (member.equals("params")) {
                JsonPeek.members(value, (name, said) -> params.put(name, JsonPeek.span(said, JsonPeek.start(said))));
            }
        });
        params.keySet().removeAll(more.keySet());
        Span meta = params.getOrDefault(META, Span.NONE);
        params.remove(META);
        Map<String, String> last = new LinkedHashMap<>(more);
        last.put(META, meta(meta.present() ? meta.in(bytes) : EMPTY, logLevel));
        List<byte[]> parts = new ArrayList<>();
        parts.add(("{\"jsonrpc\":\"2.0\",\"id\":" + id.token() + ",\"method\":" + JsonText.quoted(request.method())
                        + ",\"params\":{")
                .getBytes(UTF_8));
        params.keySet().forEach(name -> parts.add((JsonText.quoted(name) + ":").getBytes(UTF_8)));
        parts.add((JsonParts.object(last).substring(1) + "}").getBytes(UTF_8));
        int size = parts.stream().mapToInt(part -> part.length).sum()
                + params.values().stream().mapToInt(value -> value.length() + 1).sum();
        ByteBuffer whole = ByteBuffer.allocate(size).put(parts.get(0));
        int at = 1;
        for (Span value : params.values()) {
            whole.put(parts.get(at++)).put(bytes, value.from(), value.length()).put((byte) ',');
        }
        return ENVELOPES.message(whole.put(parts.get(at)).array());
    }

    /** What a request says of its client, beside what is said there already. */
    private String meta(byte[] said, Optional<String> logLevel) {
        Map<String, String> meta = JsonPeek.members(said);
        meta.put(Envelope.MODERN_VERSION, JsonText.quoted(REVISION));
        meta.put(PREFIX + "clientCapabilities", capabilities);
        meta.putIfAbsent(PREFIX + "clientInfo", info);
        logLevel.ifPresent(level -> meta.putIfAbsent(PREFIX + "logLevel", JsonText.quoted(level)));
        return JsonParts.object(meta);
    }

    /** The answer to the client's {@code initialize} that a server's to {@code server/discover} makes; empty where it speaks others. */
    public Optional<Envelope> initialized(RequestId id, byte[] discovered) {
        if (!JsonPeek.strings(discovered, "result", "supportedVersions").contains(REVISION)) {
            return Optional.empty();
        }
        Map<String, String> capabilities = JsonPeek.members(discovered, "result", "capabilities");
        Map<String, String> extensions = JsonPeek.members(discovered, "result", "capabilities", "extensions");
        extensions.remove(TASKS);
        capabilities.put("extensions", JsonParts.object(extensions));
        Map<String, String> result = new LinkedHashMap<>();
        result.put("protocolVersion", JsonText.quoted(revision));
        result.put("capabilities", JsonParts.object(capabilities));
        result.put(
                "serverInfo",
                JsonPeek.raw(discovered, "result", "_meta", PREFIX + "serverInfo")
                        .orElse(UNNAMED));
        JsonPeek.raw(discovered, "result", "instructions").ifPresent(text -> result.put("instructions", text));
        return Optional.of(ENVELOPES.message(JsonRpc.result(id, JsonParts.object(result))));
    }

    /**
     * The headers in which a request repeats what it says, but for the revision; each as it is sent.
     *
     * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata">MCP
     *     2026-07-28, request metadata</a>
     */
    public static Map<String, String> headers(Envelope request, ToolHeaders tools) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("Mcp-Method", request.method());
        RequestMeta.subject(request).ifPresent(subject -> headers.put("Mcp-Name", subject));
        if (request.method().equals("tools/call")) {
            headers.putAll(tools.of(request));
        }
        return headers.entrySet().stream()
                .filter(header -> TOKEN.matcher(header.getKey()).matches())
                .collect(Collectors.toMap(Map.Entry::getKey, header -> encoded(header.getValue())));
    }

    private static String encoded(String value) {
        boolean looksEncoded = value.startsWith(ENCODED) && value.endsWith(ENCODED_END);
        return PLAIN.matcher(value).matches() && !looksEncoded
                ? value
                : ENCODED + Base64.getEncoder().encodeToString(value.getBytes(UTF_8)) + ENCODED_END;
    }
}
