package dev.holdfast.mcp;

import dev.holdfast.LogThrottle;
import dev.holdfast.json.backend.LogText;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse.JSONRPCError;
import java.io.IOException;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes from the errors of handlers what a client must not read: names of classes, stack traces, lines of code. The SDK sends the
 * message of any exception to the client.
 */
final class NeutralErrors {
    /** Replaces a text that a client must not read. */
    static final String TEXT = "internal error";

    private static final Logger log = LoggerFactory.getLogger(NeutralErrors.class);
    private static final int MOST_LINES = 10;
    private static final int MOST_LOGGED = 2000;
    /** A longer message most often quotes what the client sent. */
    private static final int LONGEST_MESSAGE = 16 << 10;

    /**
     * Texts that nobody has written for a client. The quantifiers are possessive where a text could repeat what they match: it
     * may have come from a client, and be long.
     */
    private static final Pattern INNER_LIFE = Pattern.compile(String.join(
            "|",
            // a qualified name, as in com.acme.Shop or com/acme/Shop
            "(?<![\\w.])[a-z][a-z0-9_]++(?:\\.[a-z]\\w*+)++\\.[A-Z]",
            "(?<![\\w./:-])(?:java|javax|jakarta|jdk|com|org|net|io|dev|tools|reactor|kotlin|scala)/(?:[a-z]\\w*+/)*+[A-Z]",
            // a nested or generated class, an array
            "[a-z0-9_]\\$[A-Z$]",
            "\\[L[a-z]\\w*+\\.",
            // an exception, or an error of the JVM
            "[A-Za-z]Exception\\b",
            "\\b(?:AbstractMethod|Assertion|BootstrapMethod|ClassFormat|ExceptionInInitializer|IllegalAccess"
                    + "|IncompatibleClassChange|Instantiation|Internal|Linkage|Mcp|NoClassDefFound|NoSuchField|NoSuchMethod"
                    + "|OutOfMemory|StackOverflow|UnsatisfiedLink|UnsupportedClassVersion|Verify|VirtualMachine)Error\\b",
            // a trace
            "\\bat [\\w$.<>/@]++\\(",
            "\\n *Caused by: ",
            "\\w\\.(?:java|kt|scala|groovy):\\d",
            // the JVM of a null or a cast
            "\\bCannot (?:invoke|read field|assign field) \"",
            "\\bCannot (?:load from|store to) \\w+ array\\b",
            "\\bCannot (?:read the array length|throw exception|enter synchronized block) because\\b",
            "\\bcannot be cast to class\\b",
            // Jackson of its types and where it is
            "\\bCannot (?:construct instance of|deserialize value of type|deserialize instance of) ",
            "\\[Source: |\\(through reference chain: "));

    private final McpJsonMapper mapper;
    private final LogThrottle lines;

    NeutralErrors(McpJsonMapper mapper, LongSupplier clock) {
        this.mapper = mapper;
        this.lines = new LogThrottle(MOST_LINES, clock);
    }

    /** The part of an error that its client may read; if that is not all of it, the log has the rest. */
    JSONRPCError neutral(JSONRPCError error, String sessionId) {
        String message = error.message();
        if (message == null) {
            // before mcp-core 2.0, where a handler's exception says nothing
            return neutral(new JSONRPCError(error.code(), "Internal error", error.data()), sessionId);
        }
        boolean words = message.length() <= LONGEST_MESSAGE && !tellsInside(message);
        Object data = error.data();
        String written = data == null ? "" : write(data);
        boolean causes = data instanceof Throwable || namesFailure(written, message) || tellsInside(written);
        if (words && !causes) {
            return error;
        }
        lines.write(more -> log.warn(
                "session {}: not told to the client: error {}: {} {}{}",
                LogText.shortId(sessionId),
                error.code(),
                shown(message),
                shown(written),
                more));
        return new JSONRPCError(error.code(), words ? message : TEXT, causes ? null : data);
    }

    private static boolean tellsInside(String text) {
        return INNER_LIFE.matcher(text).find();
    }

    /**
     * Whether data begin with the simple name of an exception before its message, as {@link McpError#aggregateExceptionMessages}
     * and {@link Throwable#toString} do.
     */
    private static boolean namesFailure(String data, String message) {
        int end = 0;
        while (end < data.length() && Character.isJavaIdentifierPart(data.charAt(end))) {
            end++;
        }
        return data.startsWith(": " + message, end);
    }

    /** Data as text to look through. */
    private String write(Object data) {
        if (data instanceof String text) {
            return text;
        }
        try {
            return mapper.writeValueAsString(data)
                    .replace("\\\"", "\"")
                    .replace("\\n", "\n")
                    .replace("\\t", "\t");
        } catch (IOException | RuntimeException e) {
            return e.toString();
        }
    }

    private static String shown(String text) {
        return text.substring(0, Math.min(text.length(), MOST_LOGGED))
                .replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", " ");
    }
}
