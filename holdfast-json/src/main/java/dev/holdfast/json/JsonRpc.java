package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Writes the few JSON-RPC messages that Holdfast says itself, reads those it has kept, and names the error codes it uses. What it
 * writes is valid UTF-8 on one line whatever the text: a lone surrogate becomes an escape.
 */
public final class JsonRpc implements MessageFactory {
    /** The body is not JSON. */
    public static final int PARSE_ERROR = -32700;
    /** The body is JSON, but not a JSON-RPC message, or not one that may be sent now. */
    public static final int INVALID_REQUEST = -32600;
    /** There is no such method. */
    public static final int METHOD_NOT_FOUND = -32601;
    /** The method's parameters are wrong. */
    public static final int INVALID_PARAMS = -32602;
    /** The server failed. */
    public static final int INTERNAL_ERROR = -32603;
    /** Any other failure at the server that the client should know of: draining, a cap, a backend that ended. */
    public static final int SERVER_ERROR = -32000;
    /** The session is unknown, expired or terminated. */
    public static final int SESSION_NOT_FOUND = -32001;

    /** The headers of a request of 2026-07-28 say something else than its body. */
    public static final int HEADER_MISMATCH = -32020;
    /** A request of 2026-07-28 needs a capability that its client has not declared. */
    public static final int MISSING_CAPABILITY = -32021;
    /** A call of a revision before 2026-07-28 needs a URL opened by its client's user. */
    public static final int URL_REQUIRED = -32042;
    /** A request of 2026-07-28 names a revision that is not served. */
    public static final int UNSUPPORTED_VERSION = -32022;

    /** The one instance; it has no state. */
    public static final JsonRpc MESSAGES = new JsonRpc();

    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    /** In the order of their bits, which are kept for long: append only. */
    private static final List<String> LISTS = List.of("tools", "prompts", "resources");

    private JsonRpc() {}

    @Override
    public OutboundMessage error(RequestId id, int code, String message) {
        return new OutboundMessage(EventKind.ERROR, id, errorBody(Optional.of(id), code, message));
    }

    @Override
    public OutboundMessage cancelled(RequestId id, String reason) {
        String params = "{\"requestId\":" + id.token() + ",\"reason\":" + JsonText.quoted(reason) + "}";
        return new OutboundMessage(EventKind.NOTIFICATION, null, notification("notifications/cancelled", params));
    }

    @Override
    public InboundMessage read(byte[] message) {
        Envelope read = ENVELOPES.message(message);
        if (read.kind() != Envelope.Kind.REQUEST && read.kind() != Envelope.Kind.NOTIFICATION) {
            throw new IllegalArgumentException("not a request or notification: " + message.length + " bytes");
        }
        // the journal keeps it for long
        return read.inbound(InboundMessage.NO_CONTEXT).withoutContext();
    }

    @Override
    public OptionalDouble progress(byte[] notification) {
        return JsonPeek.number(notification, "params", "progress")
                .map(OptionalDouble::of)
                .orElseGet(OptionalDouble::empty);
    }

    @Override
    public Introduction introduction(byte[] response) {
        StringBuilder said = new StringBuilder();
        JsonPeek.canonical(response, "result", "capabilities").ifPresent(said::append);
        JsonPeek.canonical(response, "result", "serverInfo", "name").ifPresent(said::append);
        JsonPeek.canonical(response, "result", "serverInfo", "version").ifPresent(said::append);
        if (said.isEmpty()) {
            return Introduction.NONE;
        }
        byte lists = 0;
        for (int i = 0; i < LISTS.size(); i++) {
            if (JsonPeek.isTrue(response, "result", "capabilities", LISTS.get(i), "listChanged")) {
                lists |= (byte) (1 << i);
            }
        }
        return new Introduction(ByteBuffer.wrap(sha256(said.toString())).getLong(), lists);
    }

    @Override
    public Client client(byte[] initialize) {
        return new Client(
                JsonPeek.string(initialize, "params", "clientInfo", "name").orElse(""),
                JsonPeek.string(initialize, "params", "clientInfo", "version").orElse(""));
    }

    @Override
    public String name(byte[] request) {
        return CallFacts.named(request).orElse("");
    }

    @Override
    public String fault(OutboundMessage answer) {
        if (answer.kind() == EventKind.ERROR) {
            return AnswerFacts.ofError(answer.bytes()).code().orElse("");
        }
        return AnswerFacts.ofToolResult(answer.bytes()).toolError() ? "tool-error" : "";
    }

    /** Its method and its parameters, as they are written. */
    @Override
    public Optional<byte[]> asked(byte[] question) {
        return JsonPeek.raw(question, "method")
                .map(method -> sha256(method + JsonPeek.raw(question, "params").orElse("")));
    }

    @Override
    public Optional<InboundMessage> answer(RequestId question, byte[] answer) {
        Envelope read = ENVELOPES.message(answer);
        return read.kind() == Envelope.Kind.RESPONSE
                ? Optional.of(read.withId(question).inbound(InboundMessage.NO_CONTEXT))
                : Optional.empty();
    }

    @Override
    public Optional<InboundMessage> pong(RequestId ping) {
        return Optional.of(ENVELOPES.message(result(ping, "{}")).inbound(InboundMessage.NO_CONTEXT));
    }

    /** The SHA-256 of a text. */
    public static byte[] sha256(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    @Override
    public List<OutboundMessage> listsChanged(byte lists) {
        List<OutboundMessage> notifications = new ArrayList<>(LISTS.size());
        for (int i = 0; i < LISTS.size(); i++) {
            if ((lists & 1 << i) != 0) {
                byte[] changed = notification("notifications/" + LISTS.get(i) + "/list_changed", "");
                notifications.add(new OutboundMessage(EventKind.NOTIFICATION, null, changed));
            }
        }
        return notifications;
    }

    /**
     * Returns a request.
     *
     * @param params JSON on one line, written as it is; empty for none
     */
    public static byte[] request(RequestId id, String method, String params) {
        return message("\"id\":" + id.token() + "," + called(method, params));
    }

    /**
     * Returns a notification.
     *
     * @param params JSON on one line, written as it is; empty for none
     */
    public static byte[] notification(String method, String params) {
        return message(called(method, params));
    }

    /**
     * Returns a response with a result.
     *
     * @param result JSON on one line, written as it is
     */
    public static byte[] result(RequestId id, String result) {
        return message("\"id\":" + id.token() + ",\"result\":" + result);
    }

    private static String called(String method, String params) {
        return "\"method\":" + JsonText.quoted(method) + (params.isEmpty() ? "" : ",\"params\":" + params);
    }

    private static byte[] message(String members) {
        return ("{\"jsonrpc\":\"2.0\"," + members + "}").getBytes(UTF_8);
    }

    /**
     * Returns an error response.
     *
     * @param id the request's id; {@code null} is written where it is absent
     */
    public static byte[] errorBody(Optional<RequestId> id, int code, String message) {
        return error(id, code, message, "");
    }

    /**
     * Returns an error response with data.
     *
     * @param id the request's id; {@code null} is written where it is absent
     * @param dataJson the error's {@code data} as JSON on one line; written as it is
     */
    public static byte[] errorBody(Optional<RequestId> id, int code, String message, String dataJson) {
        return error(id, code, message, ",\"data\":" + dataJson);
    }

    /** Returns the notification that a resource was updated. */
    public static byte[] resourceUpdated(String uri) {
        return notification("notifications/resources/updated", "{\"uri\":" + JsonText.quoted(uri) + "}");
    }

    /** Returns the id that is this string; {@code "1"} as a string is another id than the number. */
    public static RequestId stringId(String value) {
        return JsonText.id(value);
    }

    private static byte[] error(Optional<RequestId> id, int code, String message, String dataMember) {
        return message("\"id\":" + id.map(RequestId::token).orElse("null") + ",\"error\":{\"code\":" + code
                + ",\"message\":" + JsonText.quoted(message) + dataMember + "}");
    }
}
