package dev.holdfast.mcp;

import dev.holdfast.servlet.JsonRpc;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Between the SDK's message objects and the bytes of the log. */
final class SdkMessages {
    private final McpJsonMapper mapper;

    SdkMessages(McpJsonMapper mapper) {
        this.mapper = mapper;
    }

    McpJsonMapper mapper() {
        return mapper;
    }

    <T> T read(byte[] bytes, Class<T> type) throws IOException {
        return mapper.readValue(bytes, type);
    }

    OutboundMessage outbound(McpSchema.JSONRPCMessage message) {
        byte[] bytes;
        try {
            bytes = mapper.writeValueAsBytes(message);
        } catch (IOException e) {
            throw new UncheckedIOException("a message could not be written as JSON", e);
        }
        if (message instanceof McpSchema.JSONRPCResponse response) {
            byte kind = response.error() == null ? EventKind.RESPONSE : EventKind.ERROR;
            return new OutboundMessage(kind, id(response.id()), bytes);
        }
        if (message instanceof McpSchema.JSONRPCRequest request) {
            byte kind = request.method().equals(McpSchema.METHOD_PING) ? EventKind.PING : EventKind.SERVER_REQUEST;
            return new OutboundMessage(kind, id(request.id()), bytes);
        }
        String method = ((McpSchema.JSONRPCNotification) message).method();
        return new OutboundMessage(
                switch (method) {
                    case McpSchema.METHOD_NOTIFICATION_PROGRESS -> EventKind.PROGRESS;
                    case McpSchema.METHOD_NOTIFICATION_MESSAGE -> EventKind.LOG;
                    default -> EventKind.NOTIFICATION;
                },
                null,
                bytes);
    }

    /** The error response that a failure of a handler comes to; only what the server meant for the client is told. */
    OutboundMessage failure(RequestId id, Throwable failure, String otherwise) {
        if (failure instanceof McpError error && error.getJsonRpcError() != null) {
            McpSchema.JSONRPCResponse.JSONRPCError json = error.getJsonRpcError();
            return JsonRpc.MESSAGES.error(id, json.code(), json.message());
        }
        return JsonRpc.MESSAGES.error(id, JsonRpc.INTERNAL_ERROR, otherwise);
    }

    private static RequestId id(Object value) {
        return value instanceof String text ? JsonRpc.stringId(text) : new RequestId(value.toString());
    }
}
