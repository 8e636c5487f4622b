package dev.holdfast.it;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** JSON as tests look at it, and the JSON-RPC messages that they send. */
final class Json {
    private static final JsonMapper MAPPER = new JsonMapper();

    private Json() {}

    static JsonNode parse(String text) {
        return MAPPER.readTree(text);
    }

    /** A request; {@code id} and {@code params} are JSON. */
    static String request(String id, String method, String params) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"" + method + "\",\"params\":" + params + "}";
    }

    static String notification(String method, String params) {
        return "{\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\",\"params\":" + params + "}";
    }

    /** The answer to a request of the server's; {@code id} and {@code result} are JSON. */
    static String answer(String id, String result) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":" + result + "}";
    }

    /** A tool call; {@code id} is JSON. */
    static String call(String id, String tool) {
        return request(id, "tools/call", "{\"name\":\"" + tool + "\",\"arguments\":{}}");
    }

    /** A tool call that asks to be told of its progress; {@code id} is JSON. */
    static String callWithProgress(String id, String tool) {
        return request(
                id, "tools/call", "{\"name\":\"" + tool + "\",\"arguments\":{},\"_meta\":{\"progressToken\":\"p\"}}");
    }

    static String echo(String id, String text) {
        return request(id, "tools/call", "{\"name\":\"echo\",\"arguments\":{\"text\":\"" + text + "\"}}");
    }

    static String initialize(String revision) {
        return request(
                "0",
                "initialize",
                "{\"protocolVersion\":\"" + revision + "\",\"capabilities\":"
                        + "{\"sampling\":{},\"elicitation\":{},\"roots\":{\"listChanged\":true}},"
                        + "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}");
    }
}
