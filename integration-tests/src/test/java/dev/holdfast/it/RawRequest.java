package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * An HTTP request that a test writes to a socket, right or wrong.
 *
 * @param target the path it asks for, {@code /mcp} unless told
 * @param headers its headers; {@code Host} is added where it is missing, {@code Content-Length} where nothing says how long the
 *     body is
 */
record RawRequest(String method, String target, Map<String, String> headers, byte[] body) {
    private static final String MCP = "/mcp";
    private static final String MODERN = "2026-07-28";
    private static final byte[] NOTHING = new byte[0];

    static RawRequest post(String json) {
        return post(json.getBytes(UTF_8));
    }

    static RawRequest post(byte[] body) {
        return new RawRequest("POST", MCP, Map.of(), body)
                .with("Content-Type", "application/json")
                .with("Accept", "application/json, text/event-stream");
    }

    /**
     * A request of the revision without sessions.
     *
     * @param id as JSON
     * @param name what it is about
     * @param capabilities of its client, as JSON
     * @param params its members, as JSON; empty for none
     */
    static RawRequest modern(String id, String method, String name, String capabilities, String params) {
        String meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" + MODERN
                + "\",\"io.modelcontextprotocol/clientCapabilities\":" + capabilities + "}";
        return post(Json.request(id, method, "{" + meta + (params.isEmpty() ? "" : ",") + params + "}"))
                .with("MCP-Protocol-Version", MODERN)
                .with("Mcp-Method", method)
                .with("Mcp-Name", name);
    }

    /** A call of the revision without sessions, with a text as its argument. */
    static RawRequest modernCall(String tool, String capabilities, String text) {
        return modern(
                "1",
                "tools/call",
                tool,
                capabilities,
                "\"name\":\"" + tool + "\",\"arguments\":{\"text\":\"" + text + "\"}");
    }

    static RawRequest get() {
        return new RawRequest("GET", MCP, Map.of(), NOTHING).with("Accept", "text/event-stream");
    }

    static RawRequest of(String method) {
        return new RawRequest(method, MCP, Map.of(), NOTHING);
    }

    /** The same for another path. */
    RawRequest to(String other) {
        return new RawRequest(method, other, headers, body);
    }

    RawRequest with(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(headers);
        more.put(name, value);
        return new RawRequest(method, target, more, body);
    }

    RawRequest without(String name) {
        Map<String, String> fewer = new LinkedHashMap<>(headers);
        fewer.remove(name);
        return new RawRequest(method, target, fewer, body);
    }

    /** What goes over the wire before the body. */
    byte[] head(int port) {
        RawRequest whole = headers.containsKey("Host") ? this : with("Host", "localhost:" + port);
        if (method.equals("POST")
                && !headers.containsKey("Content-Length")
                && !headers.containsKey("Transfer-Encoding")) {
            whole = whole.with("Content-Length", Integer.toString(body.length));
        }
        StringBuilder head =
                new StringBuilder(method).append(' ').append(target).append(" HTTP/1.1\r\n");
        whole.headers.forEach(
                (name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
        return head.append("\r\n").toString().getBytes(UTF_8);
    }
}
