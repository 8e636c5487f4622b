package dev.holdfast.gateway;

import dev.holdfast.servlet.JsonRpc;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.eclipse.jetty.ee11.servlet.ErrorHandler;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Answers what never reached the MCP endpoint, or failed in it: a JSON-RPC error that names the status, and nothing of ours. */
final class NeutralErrors extends ErrorHandler {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json");
        response.write(true, body(response.getStatus()), callback);
        return true;
    }

    private static ByteBuffer body(int status) {
        String text = status + " " + HttpStatus.getMessage(status);
        int code = status >= HttpStatus.INTERNAL_SERVER_ERROR_500 ? JsonRpc.INTERNAL_ERROR : JsonRpc.SERVER_ERROR;
        return ByteBuffer.wrap(JsonRpc.errorBody(Optional.empty(), code, text));
    }
}
