package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** Says what is wrong with an answer to a hostile request, if anything is. */
final class HostileJudge {
    /** What must never leave a server: traces of calls, names of classes and packages, what exceptions are called. */
    private static final Pattern INNER_LIFE = Pattern.compile(
            "Exception|Throwable|\\tat |Caused by|(?:java|javax|jakarta|reactor|holdfast|jackson|eclipse|apache)[./]"
                    // with a slash, it is a key of _meta
                    + "|modelcontextprotocol\\.|McpSchema|\\$[A-Z]");
    /** And what the container is called. */
    private static final Pattern PRODUCT = Pattern.compile("(?i)jetty|tomcat|<html");

    /**
     * What containers answer themselves to what is no HTTP to them: a request line or header they cannot read (400), a method
     * they do not do (405: Tomcat and TRACE), time (408), a missing or contradictory length (411), too much of it (413, 414,
     * 431), an Expect or Upgrade (417, 426), a transfer coding or method (501) and a version (505) they do not know.
     */
    private static final Set<Integer> CONTAINERS_OWN = Set.of(400, 405, 408, 411, 413, 414, 417, 426, 431, 501, 505);

    private static final Pattern SERVED = Pattern.compile("/(mcp|sse|message)/?($|[?])");

    private static final String DATA = "data: ";

    private HostileJudge() {}

    static Optional<String> fault(HostileRequest request, HostileWire.Answer answer) {
        int status = answer.status();
        String body = answer.body();
        boolean stream = answer.type().startsWith("text/event-stream");
        if (INNER_LIFE.matcher(body).find()) {
            return Optional.of("the body shows the server's inside");
        }
        if (request.method.equals("HEAD") && !request.goodHead && CONTAINERS_OWN.contains(status)) {
            return Optional.empty();
        }
        boolean rpcError = answer.type().equals("application/json;charset=utf-8") && error(body);
        if (status >= 400) {
            if (rpcError || request.method.equals("HEAD")) {
                return serverFault(status, answer);
            }
            if (status == 404
                    && body.isEmpty()
                    && !SERVED.matcher(request.target).find()) {
                return Optional.empty();
            }
            boolean own = CONTAINERS_OWN.contains(status) && (!request.goodHead || request.method.equals("TRACE"));
            return own ? Optional.empty() : Optional.of("no JSON-RPC error");
        }
        if (PRODUCT.matcher(body).find()) {
            return Optional.of("the body names the container");
        }
        if (status >= 300) {
            return Optional.of("a redirection");
        }
        return stream ? streamFault(answer) : Optional.empty();
    }

    private static Optional<String> serverFault(int status, HostileWire.Answer answer) {
        if (status == 503) {
            return answer.header("retry-after").isPresent()
                    ? Optional.empty()
                    : Optional.of("a 503 that does not say when to come back");
        }
        return status >= 500 ? Optional.of("a fault of the server's") : Optional.empty();
    }

    /** Every event of a stream is a message. */
    private static Optional<String> streamFault(HostileWire.Answer answer) {
        // of a stream that goes on, only a part was read
        boolean whole = !answer.endless();
        for (String line : answer.body().split("\n", -1)) {
            if (whole && line.startsWith(DATA) && line.length() > DATA.length() && !message(line)) {
                return Optional.of("an event that is no message");
            }
        }
        return Optional.empty();
    }

    private static boolean message(String line) {
        return json(line.substring(DATA.length()))
                .filter(json -> json.path("jsonrpc").asString("").equals("2.0"))
                .isPresent();
    }

    private static boolean error(String body) {
        return json(body)
                .filter(json -> json.path("jsonrpc").asString("").equals("2.0")
                        && json.has("id")
                        && json.path("error").path("code").isInt()
                        && !json.path("error").path("message").asString("").isBlank())
                .isPresent();
    }

    private static Optional<JsonNode> json(String latin) {
        try {
            return Optional.of(Json.parse(new String(latin.getBytes(ISO_8859_1), UTF_8)));
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }
}
