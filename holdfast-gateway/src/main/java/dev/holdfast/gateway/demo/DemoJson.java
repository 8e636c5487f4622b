package dev.holdfast.gateway.demo;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** JSON through the SDK's own mapper. */
final class DemoJson {
    private static final TypeRef<Map<String, Object>> OBJECT = new TypeRef<>() {};

    private DemoJson() {}

    /** Reads an object that is part of this program; its keys keep their order. */
    static Map<String, Object> object(String json) {
        try {
            return McpJsonDefaults.getMapper().readValue(json, OBJECT);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String text(Object value) {
        try {
            return McpJsonDefaults.getMapper().writeValueAsString(value);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
