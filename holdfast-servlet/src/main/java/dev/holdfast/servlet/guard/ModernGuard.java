package dev.holdfast.servlet.guard;

import static dev.holdfast.servlet.guard.RequestHeaders.header;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Refusal;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RequestMeta;
import dev.holdfast.json.ToolHeaders;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Checks what a message of a stateless revision says of itself, and that its headers say the same: whatever lies before the server
 * decides by these.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata">MCP
 *     2026-07-28, request metadata</a>
 */
public final class ModernGuard {
    /** The stateless revisions that are served. */
    public static final List<String> SUPPORTED = List.of("2026-07-28");

    private static final String META = "params._meta[\"io.modelcontextprotocol/";
    private static final Set<String> LEVELS =
            Set.of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency");
    private static final String ENCODED = "=?base64?";
    private static final String ENCODED_END = "?=";

    private ModernGuard() {}

    /** Why a message is not served; empty if it may be. */
    public static Optional<Rejection> check(HttpServletRequest request, Envelope message, RequestMeta meta) {
        Optional<String> claimed = message.modernVersion();
        if (claimed.isEmpty()) {
            return invalid(META + "protocolVersion\"] is missing: a request names its revision there, of "
                    + String.join(", ", SUPPORTED));
        }
        Optional<Rejection> different =
                different(RequestGuard.VERSION_HEADER, trimmed(request, RequestGuard.VERSION_HEADER), claimed.get());
        if (different.isPresent()) {
            return different;
        }
        if (!SUPPORTED.contains(claimed.get())) {
            String supported = "[\"" + String.join("\",\"", SUPPORTED) + "\"]";
            return Optional.of(rejection(JsonRpc.UNSUPPORTED_VERSION, "Unsupported protocol version")
                    .about("{\"supported\":" + supported + ",\"requested\":"
                            + JsonRpc.stringId(claimed.get()).token() + "}"));
        }
        if (message.kind() == Envelope.Kind.NOTIFICATION) {
            return Optional.empty();
        }
        if (meta.capabilities().isEmpty()) {
            return invalid(META + "clientCapabilities\"] is missing, or no object");
        }
        if (meta.logLevel().filter(level -> !LEVELS.contains(level)).isPresent()) {
            return invalid(META + "logLevel\"] must be one of the levels of RFC 5424, such as \"info\"");
        }
        different = different("Mcp-Method", trimmed(request, "Mcp-Method"), message.method());
        Optional<String> subject = RequestMeta.subject(message);
        return different.isPresent() || subject.isEmpty()
                ? different
                : different("Mcp-Name", trimmed(request, "Mcp-Name").map(ModernGuard::decoded), subject.get());
    }

    /** Whether the headers of a call say what its arguments say, where its tool wants that. */
    public static Optional<Rejection> checkParams(HttpServletRequest request, Envelope call, ToolHeaders tools) {
        return tools.different(call, name -> trimmed(request, name).map(ModernGuard::decoded))
                .map(name -> rejection(
                        JsonRpc.HEADER_MISMATCH,
                        "Header mismatch: the header " + name + " does not say what the argument says"));
    }

    private static Optional<String> trimmed(HttpServletRequest request, String name) {
        return header(request, name).map(String::trim);
    }

    private static Optional<Rejection> different(String name, Optional<String> header, String body) {
        if (header.filter(body::equals).isPresent()) {
            return Optional.empty();
        }
        String what = header.isPresent()
                ? "the header " + name + " does not say what the body says: " + Rejection.quote(body)
                : "the header " + name + " is missing";
        return Optional.of(rejection(JsonRpc.HEADER_MISMATCH, "Header mismatch: " + what));
    }

    /** The value that a header has in its encoded form; itself where it has another form, or none that can be read. */
    private static String decoded(String header) {
        if (header.length() < ENCODED.length() + ENCODED_END.length()
                || !header.startsWith(ENCODED)
                || !header.endsWith(ENCODED_END)) {
            return header;
        }
        String code = header.substring(ENCODED.length(), header.length() - ENCODED_END.length());
        try {
            // the decoder does not insist on the padding
            return code.length() % 4 == 0 ? new String(Base64.getDecoder().decode(code), UTF_8) : header;
        } catch (IllegalArgumentException e) {
            return header;
        }
    }

    private static Optional<Rejection> invalid(String message) {
        return Optional.of(rejection(JsonRpc.INVALID_PARAMS, message));
    }

    private static Rejection rejection(int code, String message) {
        return Rejection.of(Refusal.NOT_SERVED, 400, code, message);
    }
}
