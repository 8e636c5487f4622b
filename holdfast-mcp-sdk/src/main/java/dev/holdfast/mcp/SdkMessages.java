package dev.holdfast.mcp;

import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** Between the SDK's message objects and the bytes of the log. */
final class SdkMessages {
    private static final int LARGE = 1 << 20;
    /** A large message is there several times while it is written as JSON: one at a time. */
    private static final ReentrantLock ONE_LARGE = new ReentrantLock();

    /** The length that any other value counts with, such as a number. */
    private static final int OTHER = 8;

    private final McpJsonMapper mapper;
    private final NeutralErrors errors;

    SdkMessages(McpJsonMapper mapper) {
        this.mapper = mapper;
        this.errors = new NeutralErrors(mapper, System::nanoTime);
    }

    McpJsonMapper mapper() {
        return mapper;
    }

    <T> T read(byte[] bytes, Class<T> type) throws IOException {
        return mapper.readValue(bytes, type);
    }

    /** A message as its client may read it. */
    OutboundMessage outbound(McpSchema.JSONRPCMessage message, Supplier<String> sessionId) {
        if (!(message instanceof McpSchema.JSONRPCResponse response)) {
            return outbound(message);
        }
        if (response.error() != null) {
            return outbound(error(response.id(), errors.neutral(response.error(), sessionId.get())));
        }
        if (response.result() == null || length(response.result()) <= LARGE) {
            return outbound(message);
        }
        ONE_LARGE.lock();
        try {
            return outbound(message);
        } finally {
            ONE_LARGE.unlock();
        }
    }

    OutboundMessage notification(String method, Object params) {
        return outbound(new McpSchema.JSONRPCNotification(McpSchema.JSONRPC_VERSION, method, params));
    }

    /** The response that a request gets. By the constructor that every version of the SDK has, like all messages here. */
    static McpSchema.JSONRPCResponse result(Object id, Object result) {
        return new McpSchema.JSONRPCResponse(McpSchema.JSONRPC_VERSION, id, result, null);
    }

    /** The error that a request gets in the place of a response. */
    static McpSchema.JSONRPCResponse error(Object id, McpSchema.JSONRPCResponse.JSONRPCError error) {
        return new McpSchema.JSONRPCResponse(McpSchema.JSONRPC_VERSION, id, null, error);
    }

    private OutboundMessage outbound(McpSchema.JSONRPCMessage message) {
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

    /** The approximate length as JSON. Only what may be long is counted exactly. */
    private static long length(Object value) {
        if (value instanceof McpSchema.CallToolResult result) {
            return length(result.content())
                    + (result.structuredContent() == null ? 0 : length(result.structuredContent()));
        } else if (value instanceof McpSchema.TextContent content) {
            return content.text().length();
        } else if (value instanceof McpSchema.ImageContent content) {
            return content.data().length();
        } else if (value instanceof McpSchema.AudioContent content) {
            return content.data().length();
        } else if (value instanceof McpSchema.EmbeddedResource content) {
            return length(content.resource());
        } else if (value instanceof McpSchema.ReadResourceResult result) {
            return length(result.contents());
        } else if (value instanceof McpSchema.TextResourceContents contents) {
            return contents.text().length();
        } else if (value instanceof McpSchema.BlobResourceContents contents) {
            return contents.blob().length();
        } else if (value instanceof McpSchema.GetPromptResult result) {
            return length(result.messages());
        } else if (value instanceof McpSchema.PromptMessage part) {
            return length(part.content());
        } else if (value instanceof CharSequence text) {
            return text.length();
        } else if (value instanceof Map<?, ?> map) {
            return length(map.values());
        } else if (value instanceof Iterable<?> parts) {
            long sum = 0;
            for (Object part : parts) {
                sum += part == null ? 0 : length(part);
            }
            return sum;
        }
        return OTHER;
    }

    /** The error response for a failure. It says only what the server meant for the client, else {@code otherwise}. */
    OutboundMessage failure(RequestId id, Throwable failure, String otherwise, String sessionId) {
        if (failure instanceof McpError error && error.getJsonRpcError() != null) {
            McpSchema.JSONRPCResponse.JSONRPCError json = errors.neutral(error.getJsonRpcError(), sessionId);
            return JsonRpc.MESSAGES.error(id, json.code(), json.message());
        }
        return JsonRpc.MESSAGES.error(id, JsonRpc.INTERNAL_ERROR, otherwise);
    }

    private static RequestId id(Object value) {
        return value instanceof String text ? JsonRpc.stringId(text) : new RequestId(value.toString());
    }
}
