package dev.holdfast.gateway.demo;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One required input of a demo tool: what the client is told of it, and the check that holds the client to it. */
sealed interface DemoParameter {
    /** The key in the call's arguments. */
    String name();

    /** The JSON Schema of the value. */
    Map<String, Object> schema();

    /** What is wrong with the value, in words for the caller; empty if a tool may use it. */
    Optional<String> fault(@Nullable Object value);

    /** A text of at most {@code maxLength} code points. */
    record Text(String name, String description, int maxLength) implements DemoParameter {
        @Override
        public Map<String, Object> schema() {
            Map<String, Object> schema = new LinkedHashMap<>();
            schema.put("type", "string");
            schema.put("description", description);
            schema.put("maxLength", maxLength);
            return schema;
        }

        @Override
        public Optional<String> fault(@Nullable Object value) {
            if (value instanceof String text) {
                int length = text.codePointCount(0, text.length());
                return length <= maxLength
                        ? Optional.empty()
                        : Optional.of(
                                "'" + name + "' has " + length + " characters, at most " + maxLength + " are allowed");
            }
            return Optional.of("'" + name + "' must be a string, but is " + described(value));
        }
    }

    /** A whole number from {@code least} to {@code most}; {@code 5.0} is whole. */
    record Whole(String name, String description, int least, int most) implements DemoParameter {
        @Override
        public Map<String, Object> schema() {
            Map<String, Object> schema = new LinkedHashMap<>();
            schema.put("type", "integer");
            schema.put("description", description);
            schema.put("minimum", least);
            schema.put("maximum", most);
            return schema;
        }

        @Override
        public Optional<String> fault(@Nullable Object value) {
            if (value instanceof Number number && isWholeAndInRange(number.doubleValue())) {
                return Optional.empty();
            }
            return Optional.of("'" + name + "' must be a whole number from " + least + " to " + most + ", but is "
                    + described(value));
        }

        private boolean isWholeAndInRange(double value) {
            return value >= least && value <= most && value == Math.rint(value);
        }
    }

    private static String described(@Nullable Object value) {
        if (value == null) {
            return "missing";
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        return value instanceof String ? "a text" : "a list or an object";
    }
}
