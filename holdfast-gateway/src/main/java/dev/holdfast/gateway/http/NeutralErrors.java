package dev.holdfast.gateway.http;

import dev.holdfast.json.JsonRpc;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.ee11.servlet.ErrorHandler;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Answers what never reached the MCP endpoint, or failed in it: a JSON-RPC error that names the status, and nothing of ours. A
 * server that stops ends requests whose head has begun to arrive as if it had failed on them, and finds nothing any more: that is
 * no fault of theirs, they may come again.
 */
final class NeutralErrors extends ErrorHandler {
    private final BooleanSupplier stopping;

    NeutralErrors(BooleanSupplier stopping) {
        this.stopping = stopping;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        if (stopping.getAsBoolean() && absent(response.getStatus())) {
            response.setStatus(HttpStatus.SERVICE_UNAVAILABLE_503);
            response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
        }
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json;charset=utf-8");
        response.write(true, body(response.getStatus()), callback);
        return true;
    }

    /** Whether nothing is served there, as opposed to a faulty request. */
    private static boolean absent(int status) {
        return status == HttpStatus.NOT_FOUND_404 || status == HttpStatus.INTERNAL_SERVER_ERROR_500;
    }

    private static ByteBuffer body(int status) {
        String text = status + " " + HttpStatus.getMessage(status);
        int code = status == HttpStatus.INTERNAL_SERVER_ERROR_500 ? JsonRpc.INTERNAL_ERROR : JsonRpc.SERVER_ERROR;
        return ByteBuffer.wrap(JsonRpc.errorBody(Optional.empty(), code, text));
    }
}
