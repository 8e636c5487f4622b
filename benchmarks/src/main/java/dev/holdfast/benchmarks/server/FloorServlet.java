package dev.holdfast.benchmarks.server;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The floor: no MCP at all. A POST is read and answered with the bytes of an echo, a GET opens an SSE response with a comment and
 * keeps it for what is sent to all.
 */
final class FloorServlet extends HttpServlet {
    private static final byte[] ECHO = """
            retry: 2000
            id: 1.2s.1.1jns7bu.0
            data:\s

            id: 1.2s.1.1jns7bu.1
            event: message
            data: {"jsonrpc":"2.0","id":100000000,"result":{"content":[{"type":"text","text":"hello"}],"isError":false}}

            """.getBytes(StandardCharsets.US_ASCII);
    private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);

    private final transient Set<Open> listening = ConcurrentHashMap.newKeySet();

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        request.getInputStream().readNBytes(request.getContentLength());
        head(response);
        response.getOutputStream().write(ECHO);
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        AsyncContext context = request.startAsync(request, response);
        context.setTimeout(0);
        head(response);
        response.setHeader("Cache-Control", "no-cache, no-transform");
        response.setHeader("X-Accel-Buffering", "no");
        ServletOutputStream out = response.getOutputStream();
        out.write(ByteBuffer.wrap(COMMENT));
        out.flush();
        listening.add(new Open(context, out));
    }

    @Override
    protected void doDelete(HttpServletRequest request, HttpServletResponse response) {
        response.setContentLength(0);
    }

    private static void head(HttpServletResponse response) {
        response.setHeader("Content-Type", "text/event-stream;charset=utf-8");
    }

    /** Writes an event to each open response, one after the other. */
    void broadcast(Map<String, String> data) {
        String fields = data.entrySet().stream()
                .map(field -> "\"" + field.getKey() + "\":\"" + field.getValue() + "\"")
                .collect(Collectors.joining(","));
        byte[] event =
                ("id: 1.2s.1.1jns7bu.1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                                + "\"params\":{\"level\":\"info\",\"data\":{" + fields + "}}}\n\n")
                        .getBytes(StandardCharsets.US_ASCII);
        listening.forEach(open -> open.write(event));
    }

    /** An open response. A peer that has gone is noticed by the next write. */
    private final class Open {
        private final AsyncContext context;
        private final ServletOutputStream out;

        private Open(AsyncContext context, ServletOutputStream out) {
            this.context = context;
            this.out = out;
        }

        private void write(byte[] event) {
            try {
                // as a buffer: of an array the container would make a copy of its own for each response
                out.write(ByteBuffer.wrap(event));
                out.flush();
            } catch (IOException e) {
                listening.remove(this);
                context.complete();
            }
        }
    }
}
