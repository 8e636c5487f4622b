package dev.holdfast.mcp.client;

import io.modelcontextprotocol.spec.McpTransportException;

/**
 * A request was sent, its answer is lost, and nobody knows whether the server executed it. Its tool is not known to be read-only or
 * idempotent, so it was not sent again; or it was, until {@link HoldfastClientTransport.Builder#patience} was over. Whether to call once
 * more is for the application to decide.
 */
public final class CallOutcomeUnknownException extends McpTransportException {
    CallOutcomeUnknownException(String message, Throwable cause) {
        super(message, cause);
    }
}
