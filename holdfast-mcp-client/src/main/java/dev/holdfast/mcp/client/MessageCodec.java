package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse.JSONRPCError;
import io.modelcontextprotocol.spec.McpTransportException;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Messages as the SDK has them, and as bytes. */
final class MessageCodec {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();

    private final McpJsonMapper json;

    MessageCodec(McpJsonMapper json) {
        this.json = json;
    }

    McpJsonMapper json() {
        return json;
    }

    /**
     * Writes a message.
     *
     * @throws McpTransportException if it cannot be written, or is no JSON-RPC then
     */
    Envelope write(JSONRPCMessage message) {
        byte[] bytes;
        try {
            bytes = json.writeValueAsBytes(message);
        } catch (IOException e) {
            throw new McpTransportException("the message cannot be written as JSON", e);
        }
        EnvelopeReader.Parsed parsed = ENVELOPES.read(bytes);
        if (parsed instanceof EnvelopeReader.Single single) {
            return single.message();
        }
        throw new McpTransportException("the message is no JSON-RPC: " + parsed);
    }

    /** The error that ends a request in the place of its answer, which has the request's id. */
    JSONRPCMessage error(Envelope answer, String text) {
        String id = answer.spelledId().orElseThrow();
        try {
            return new JSONRPCResponse(
                    McpSchema.JSONRPC_VERSION,
                    json.readValue(id, Object.class),
                    null,
                    new JSONRPCError(McpSchema.ErrorCodes.INTERNAL_ERROR, text, null));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Reads a message.
     *
     * @throws McpTransportException if the SDK does not know such a one
     */
    JSONRPCMessage read(Envelope envelope) {
        try {
            return McpSchema.deserializeJsonRpcMessage(json, new String(envelope.bytes(), UTF_8));
        } catch (IOException | RuntimeException e) {
            throw new McpTransportException("a message of the server cannot be read", e);
        }
    }
}
