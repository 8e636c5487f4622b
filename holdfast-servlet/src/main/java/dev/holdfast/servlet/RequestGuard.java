package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The first stage of every request that the {@link Doorkeeper} lets in: its headers, then what its body says of the era. Each
 * rung of the ladder lets the request pass or returns the one {@link Rejection} that names what is wrong.
 */
final class RequestGuard {
    private static final String EVENT_STREAM = "text/event-stream";
    private static final String JSON = "application/json";
    private static final Pattern ZERO_QUALITY = Pattern.compile(";\\s*+q=0(?:\\.0*+)?+\\s*+$");

    private final boolean allowDelete;
    private final int maxRequestSize;

    RequestGuard(EdgeOptions options) {
        this.allowDelete = options.allowDelete();
        this.maxRequestSize = options.maxRequestSize();
    }

    /** What the headers alone rule out. */
    Optional<Rejection> checkHeaders(RequestHeaders request) {
        return switch (request.method()) {
            case "POST" -> checkPost(request);
            case "GET" -> checkGet(request);
            case "DELETE" -> allowDelete ? Optional.empty() : Optional.of(methodNotAllowed(methods()));
            default -> Optional.of(methodNotAllowed(methods()));
        };
    }

    /** The same for the GET of HTTP+SSE. */
    Optional<Rejection> checkHttpSseGet(RequestHeaders request) {
        return only("GET", request).or(() -> checkGet(request)).or(() -> checkRevision(request));
    }

    /** The same for the POST of HTTP+SSE, whose clients do not say what they accept. */
    Optional<Rejection> checkHttpSsePost(RequestHeaders request) {
        return only("POST", request).or(() -> checkBody(request));
    }

    private static Optional<Rejection> only(String method, RequestHeaders request) {
        return request.method().equals(method) ? Optional.empty() : Optional.of(methodNotAllowed(method));
    }

    private static Optional<Rejection> checkGet(RequestHeaders request) {
        return accepts(request, EVENT_STREAM)
                ? Optional.empty()
                : Optional.of(notAcceptable("a GET must accept " + EVENT_STREAM));
    }

    private Optional<Rejection> checkPost(RequestHeaders request) {
        if (!accepts(request, JSON) || !accepts(request, EVENT_STREAM)) {
            return Optional.of(notAcceptable("a POST must accept both " + JSON + " and " + EVENT_STREAM));
        }
        return checkBody(request);
    }

    private Optional<Rejection> checkBody(RequestHeaders request) {
        if (!isJson(request.header("Content-Type").orElse(""))) {
            return Optional.of(Rejection.of(
                    Refusal.NOT_SERVED,
                    415,
                    JsonRpc.INVALID_REQUEST,
                    "the Content-Type of a POST must be " + JSON + " in UTF-8"));
        }
        if (request.contentLength() > maxRequestSize) {
            return Optional.of(Rejection.tooLarge(maxRequestSize));
        }
        return Optional.empty();
    }

    /** The protocol revision in the headers, which must be one we speak; none is fine. */
    Optional<Rejection> checkRevision(RequestHeaders request) {
        Optional<String> version = request.header("MCP-Protocol-Version");
        Optional<String> modern = Era.modern(version);
        if (modern.isPresent()) {
            return Optional.of(unsupported(modern.get()));
        }
        return version.filter(v -> !Era.SUPPORTED.contains(v))
                .map(v -> Rejection.badRequest(
                        Refusal.NOT_SERVED,
                        "the MCP-Protocol-Version header names a revision that is not supported; " + "supported are "
                                + String.join(", ", Era.SUPPORTED)));
    }

    /** The same for one message: a modern client names its revision in the message as well. */
    Optional<Rejection> checkRevision(RequestHeaders request, Envelope message) {
        Optional<String> modern = Era.modern(message.modernVersion());
        return modern.map(RequestGuard::unsupported)
                .or(() -> checkRevision(request))
                .map(rejection -> rejection.to(message.id()));
    }

    /** A modern client falls back to {@code initialize} when it reads this. */
    private static Rejection unsupported(String requested) {
        String supported = "[\"" + String.join("\",\"", Era.SUPPORTED) + "\"]";
        return Rejection.of(
                        Refusal.NOT_SERVED,
                        400,
                        JsonRpc.UNSUPPORTED_PROTOCOL_VERSION,
                        "this server speaks the revisions with an initialize handshake only")
                .about("{\"supported\":" + supported + ",\"requested\":\"" + requested + "\"}");
    }

    /** What Streamable HTTP takes, as a header names it. */
    String methods() {
        return allowDelete ? "GET, POST, DELETE" : "GET, POST";
    }

    private static Rejection methodNotAllowed(String allowed) {
        return Rejection.of(Refusal.NOT_SERVED, 405, JsonRpc.INVALID_REQUEST, "this endpoint does not take this method")
                .with("Allow", allowed);
    }

    private static Rejection notAcceptable(String message) {
        return Rejection.of(Refusal.NOT_SERVED, 406, JsonRpc.INVALID_REQUEST, message);
    }

    private static boolean isJson(String contentType) {
        String[] parts = contentType.toLowerCase(Locale.ROOT).split(";", -1);
        if (!parts[0].trim().equals(JSON)) {
            return false;
        }
        for (int i = 1; i < parts.length; i++) {
            String parameter = parts[i].trim().replace("\"", "");
            if (parameter.startsWith("charset=") && !parameter.equals("charset=utf-8")) {
                return false;
            }
        }
        return true;
    }

    /** Whether a media type is among those accepted; quality zero means it is not. */
    private static boolean accepts(RequestHeaders request, String type) {
        String all = request.header("Accept").orElse("").toLowerCase(Locale.ROOT);
        String family = type.substring(0, type.indexOf('/') + 1) + "*";
        for (String range : all.split(",", -1)) {
            String[] parts = range.split(";", -1);
            String name = parts[0].trim();
            if (name.equals(type) || name.equals(family) || name.equals("*/*")) {
                return parts.length == 1 || !ZERO_QUALITY.matcher(range).find();
            }
        }
        return false;
    }
}
