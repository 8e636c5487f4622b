package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * The answer of a server of a legacy revision as a client of 2026-07-28 expects it: with the id that the client gave, with the members
 * that every result has there, and with the codes that errors have there. Made of the bytes of the answer, without a tree.
 *
 * @param bytes the message
 * @param code the code of the error that it is; 0 for a result
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic#responses">MCP 2026-07-28, responses</a>
 */
public record ModernAnswer(byte[] bytes, int code) {
    private static final String SERVER_INFO = "\"io.modelcontextprotocol/serverInfo\":";
    /** The results that say how long they may be kept, and by whom. */
    private static final Set<String> CACHEABLE = Set.of(
            "server/discover",
            "tools/list",
            "prompts/list",
            "resources/list",
            "resources/templates/list",
            "resources/read");

    /** The code that revisions before had for a resource that is not there. */
    private static final int NO_RESOURCE = -32002;

    private static final int FIRST_RESERVED = -32099;
    private static final int LAST_RESERVED = -32020;

    /**
     * Makes it of an answer; an error of one that cannot be read.
     *
     * @param method the method of the request
     * @param id the id that its client gave it
     * @param serverInfo how the server has introduced itself, as JSON; empty if it has not
     */
    public static ModernAnswer of(byte[] answer, String method, RequestId id, String serverInfo) {
        Reading reading = new Reading();
        List<Splice> splices = new ArrayList<>(4);
        if (!JsonPeek.place(answer, reading::member)) {
            String why = "the server has answered what cannot be read";
            return new ModernAnswer(
                    JsonRpc.errorBody(Optional.of(id), JsonRpc.INTERNAL_ERROR, why), JsonRpc.INTERNAL_ERROR);
        }
        splices.add(new Splice(reading.id, id.token()));
        int code = 0;
        if (reading.error.present()) {
            code = modern(reading.code);
            if (code != reading.code) {
                splices.add(new Splice(reading.error, error(answer, reading, code)));
            }
        } else if (reading.result.present()) {
            StringBuilder members = new StringBuilder();
            boolean cacheable = CACHEABLE.contains(method);
            members.append(reading.has("resultType") ? "" : "\"resultType\":\"complete\",");
            members.append(cacheable && !reading.has("ttlMs") ? "\"ttlMs\":0," : "");
            members.append(cacheable && !reading.has("cacheScope") ? "\"cacheScope\":\"private\"," : "");
            boolean introduces = !serverInfo.isEmpty() && !reading.introduced;
            if (introduces && !reading.has("_meta")) {
                members.append("\"_meta\":{")
                        .append(SERVER_INFO)
                        .append(serverInfo)
                        .append("},");
            } else if (introduces && reading.meta.present()) {
                String more = reading.metaMembers == 0 ? "" : ",";
                splices.add(Splice.into(reading.meta, SERVER_INFO + serverInfo + more));
            }
            if (reading.members.isEmpty() && members.length() > 0) {
                members.setLength(members.length() - 1);
            }
            splices.add(Splice.into(reading.result, members.toString()));
        }
        return new ModernAnswer(spliced(answer, splices), code);
    }

    /** The code that an error has from 2026-07-28 on, where the codes around are the specification's own. */
    private static int modern(int code) {
        if (code == NO_RESOURCE) {
            return JsonRpc.INVALID_PARAMS;
        }
        boolean defined = code == JsonRpc.HEADER_MISMATCH
                || code == JsonRpc.MISSING_CAPABILITY
                || code == JsonRpc.UNSUPPORTED_VERSION;
        return code >= FIRST_RESERVED && code <= LAST_RESERVED && !defined ? JsonRpc.INTERNAL_ERROR : code;
    }

    private static String error(byte[] answer, Reading reading, int code) {
        String message = text(answer, reading.message);
        String data = text(answer, reading.data);
        if (code == JsonRpc.INTERNAL_ERROR) {
            data = "{\"code\":" + reading.code + (data.isEmpty() ? "" : ",\"data\":" + data) + "}";
        }
        return "{\"code\":" + code + ",\"message\":" + (message.isEmpty() ? "\"\"" : message)
                + (data.isEmpty() ? "" : ",\"data\":" + data) + "}";
    }

    private static String text(byte[] answer, Span span) {
        return span.present() ? new String(answer, span.from(), span.length(), UTF_8) : "";
    }

    private static byte[] spliced(byte[] answer, List<Splice> splices) {
        splices.sort(Comparator.comparingInt(splice -> splice.at.from()));
        ByteArrayOutputStream spliced = new ByteArrayOutputStream(answer.length + 256);
        int done = 0;
        for (Splice splice : splices) {
            if (splice.at.present()) {
                spliced.write(answer, done, splice.at.from() - done);
                spliced.writeBytes(splice.text.getBytes(UTF_8));
                done = splice.at.to();
            }
        }
        spliced.write(answer, done, answer.length - done);
        return spliced.toByteArray();
    }

    /** A text in the place of some bytes. */
    private record Splice(Span at, String text) {
        /** A text that comes first in an object. */
        static Splice into(Span object, String text) {
            return new Splice(new Span(object.from() + 1, object.from() + 1), text);
        }
    }

    /** Where the members of an answer lie. */
    private static final class Reading {
        private Span id = Span.NONE;
        private Span result = Span.NONE;
        private Span error = Span.NONE;
        private Span message = Span.NONE;
        private Span data = Span.NONE;
        private Span meta = Span.NONE;
        private int code;
        private int metaMembers;
        private boolean introduced;
        private final List<String> members = new ArrayList<>();

        private boolean has(String member) {
            return members.contains(member);
        }

        private void member(String name, JsonParser value) {
            switch (name) {
                case "id" -> id = JsonPeek.span(value, JsonPeek.start(value));
                case "result" -> {
                    int start = JsonPeek.start(value);
                    boolean object = value.currentToken() == JsonToken.START_OBJECT;
                    JsonPeek.members(value, this::resultMember);
                    result = object ? JsonPeek.span(value, start) : Span.NONE;
                }
                case "error" -> {
                    int start = JsonPeek.start(value);
                    JsonPeek.members(value, this::errorMember);
                    error = JsonPeek.span(value, start);
                }
                default -> {}
            }
        }

        private void resultMember(String name, JsonParser value) {
            members.add(name);
            if (name.equals("_meta") && value.currentToken() == JsonToken.START_OBJECT) {
                int start = JsonPeek.start(value);
                JsonPeek.members(value, (key, said) -> {
                    metaMembers++;
                    introduced |= key.equals("io.modelcontextprotocol/serverInfo");
                });
                meta = JsonPeek.span(value, start);
            }
        }

        private void errorMember(String name, JsonParser value) {
            switch (name) {
                case "code" -> code = value.currentToken() == JsonToken.VALUE_NUMBER_INT ? value.getIntValue() : 0;
                case "message" -> message = JsonPeek.span(value, JsonPeek.start(value));
                case "data" -> data = JsonPeek.span(value, JsonPeek.start(value));
                default -> {}
            }
        }
    }
}
