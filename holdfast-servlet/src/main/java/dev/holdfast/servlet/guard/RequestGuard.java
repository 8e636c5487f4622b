package dev.holdfast.servlet.guard;

import static dev.holdfast.servlet.guard.RequestHeaders.header;

import dev.holdfast.Refusal;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Checks the headers of a request, then the revision that its body names. Each check lets the request pass or returns the {@link
 * Rejection} that says what is wrong; the protocols decide which checks apply to which request.
 */
public final class RequestGuard {
    static final String VERSION_HEADER = "MCP-Protocol-Version";
    private static final String IDENTITY = "identity";

    /** The revisions that are served, newest first: the legacy ones, with an {@code initialize} handshake. */
    private static final List<String> SUPPORTED = List.of("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05");

    private static final String WITH_BATCHES = "2025-03-26";
    private static final String FIRST_MODERN = "2026-07-28";
    private static final Pattern DATE = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");

    private final int maxRequestSize;
    // clients say the same again and again
    /** The last {@code Accept} that took both; one that says nothing does. */
    private volatile String lastForBoth = "";
    /** The last {@code Content-Type} that was served. */
    private volatile String lastJson = Accept.JSON_TYPE;

    /**
     * A guard.
     *
     * @param maxRequestSize how many bytes a body may have
     */
    public RequestGuard(int maxRequestSize) {
        this.maxRequestSize = maxRequestSize;
    }

    /** Refuses every method but one. */
    public static Optional<Rejection> checkMethod(String only, HttpServletRequest request) {
        return request.getMethod().equals(only) ? Optional.empty() : Optional.of(methodNotAllowed(only));
    }

    /** Which forms of an answer the client takes. */
    public Accept accept(HttpServletRequest request) {
        String header = header(request, "Accept").orElse("");
        if (header.equals(lastForBoth)) {
            return Accept.BOTH;
        }
        if (header.equals(Accept.EVENT_STREAM_TYPE)) {
            return Accept.EVENT_STREAM;
        }
        Accept accept = Accept.of(header);
        if (accept == Accept.BOTH) {
            lastForBoth = header;
        }
        return accept;
    }

    /** What the headers of a GET rule out. */
    public Optional<Rejection> checkGet(HttpServletRequest request) {
        Accept accept = accept(request);
        return accept == Accept.BOTH || accept == Accept.EVENT_STREAM
                ? Optional.empty()
                : Optional.of(notAcceptable("a GET must accept " + Accept.EVENT_STREAM_TYPE));
    }

    /** What the headers of a POST rule out whose client takes these answers. */
    public Optional<Rejection> checkPost(HttpServletRequest request, Accept accept) {
        if (accept == Accept.NEITHER) {
            return Optional.of(notAcceptable("a POST must accept " + Accept.JSON_TYPE + " or "
                    + Accept.EVENT_STREAM_TYPE + ", and should accept both"));
        }
        return checkBody(request);
    }

    /** What the headers say against the body of a POST. */
    public Optional<Rejection> checkBody(HttpServletRequest request) {
        if (!isJson(header(request, "Content-Type").orElse(""))) {
            return Optional.of(Rejection.of(
                    Refusal.NOT_SERVED,
                    415,
                    JsonRpc.INVALID_REQUEST,
                    "the Content-Type of a POST must be " + Accept.JSON_TYPE + " in UTF-8"));
        }
        Optional<String> coding = header(request, "Content-Encoding").filter(all -> !isPlain(all));
        if (coding.isPresent()) {
            return Optional.of(Rejection.of(
                            Refusal.NOT_SERVED,
                            415,
                            JsonRpc.INVALID_REQUEST,
                            "the body of a POST must not be encoded, and its Content-Encoding is "
                                    + Rejection.quote(coding.get()))
                    .with("Accept-Encoding", IDENTITY));
        }
        if (request.getContentLengthLong() > maxRequestSize) {
            return Optional.of(Rejection.tooLarge(maxRequestSize));
        }
        return Optional.empty();
    }

    /** Refuses a protocol revision in the headers that is not served; no revision is accepted. */
    public static Optional<Rejection> checkRevision(HttpServletRequest request) {
        Optional<String> version = header(request, VERSION_HEADER);
        if (version.isEmpty() || SUPPORTED.contains(version.get())) {
            return Optional.empty();
        }
        return modernOf(version)
                .or(() -> Optional.of(Rejection.badRequest(
                        Refusal.NOT_SERVED,
                        "the MCP-Protocol-Version header names a revision that is not supported; supported are "
                                + String.join(", ", SUPPORTED))));
    }

    /** Whether a header names a stateless revision, be it one that is not served. */
    public static boolean isStateless(HttpServletRequest request) {
        return header(request, VERSION_HEADER).filter(RequestGuard::isModern).isPresent();
    }

    static boolean isModern(String version) {
        return DATE.matcher(version).matches() && version.compareTo(FIRST_MODERN) >= 0;
    }

    /** The same for one message that is not {@code initialize}: a modern client names its revision in the message as well. */
    public static Optional<Rejection> checkRevision(Envelope message) {
        Optional<String> version = message.modernVersion();
        return version.isEmpty() ? Optional.empty() : modernOf(version);
    }

    /** Refuses a modern, stateless revision. */
    private static Optional<Rejection> modernOf(Optional<String> version) {
        return version.filter(RequestGuard::isModern).map(RequestGuard::modern);
    }

    /** Whether a POST may hold several messages in this revision. */
    public static boolean batches(String revision) {
        return revision.equals(WITH_BATCHES);
    }

    /** Why a session is of no use in which nothing but this revision is spoken; empty if it is of use. */
    public static Optional<String> unserved(String revision) {
        return SUPPORTED.contains(revision)
                ? Optional.empty()
                : Optional.of("the server has chosen protocol revision " + Rejection.quote(revision) + "; served are "
                        + String.join(", ", SUPPORTED));
    }

    /**
     * What every client that knows both eras takes for a server of the legacy one, and falls back to {@code initialize}. The code of
     * revision 2026-07-28 for an unsupported version would name a server of that revision: Rust's client then gives up.
     */
    private static Rejection modern(String requested) {
        String supported = "[\"" + String.join("\",\"", SUPPORTED) + "\"]";
        return Rejection.of(
                        Refusal.NOT_SERVED,
                        400,
                        JsonRpc.METHOD_NOT_FOUND,
                        "revision " + requested + " is not served: initialize a session, and name the revision that it"
                                + " negotiates in MCP-Protocol-Version")
                .about("{\"supported\":" + supported + ",\"requested\":\"" + requested + "\"}");
    }

    /** The answer to a method that is not served. */
    public static Rejection methodNotAllowed(String allowed) {
        return Rejection.of(Refusal.NOT_SERVED, 405, JsonRpc.INVALID_REQUEST, "this endpoint does not take this method")
                .with("Allow", allowed);
    }

    private static Rejection notAcceptable(String message) {
        return Rejection.of(Refusal.NOT_SERVED, 406, JsonRpc.INVALID_REQUEST, message);
    }

    private boolean isJson(String contentType) {
        if (contentType.equals(lastJson)) {
            return true;
        }
        String[] parts = contentType.toLowerCase(Locale.ROOT).split(";", -1);
        if (!parts[0].trim().equals(Accept.JSON_TYPE)) {
            return false;
        }
        for (int i = 1; i < parts.length; i++) {
            String parameter = parts[i].trim().replace("\"", "");
            if (parameter.startsWith("charset=") && !parameter.equals("charset=utf-8")) {
                return false;
            }
        }
        lastJson = contentType;
        return true;
    }

    /** Whether no coding of a Content-Encoding changes the body. */
    private static boolean isPlain(String codings) {
        return Stream.of(codings.split(",", -1))
                .map(String::trim)
                .allMatch(coding -> coding.isEmpty() || coding.equalsIgnoreCase(IDENTITY));
    }
}
