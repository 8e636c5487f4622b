package dev.holdfast.json;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tools.jackson.core.JsonParser;

/**
 * What a request of revision 2026-07-28 or later says of its client in {@code params._meta}.
 *
 * @param capabilities what the client can do, but for tasks: JSON without white space, the same text for the same capabilities;
 *     empty where it does not say
 * @param answers of what it can be asked: {@code elicitation}, {@code sampling}, {@code roots}
 * @param tasks whether it takes a task in the place of a result
 * @param logLevel from which level on it wants the log of its request; empty for no log
 * @see <a href="https://modelcontextprotocol.io/specification/2026-07-28/basic#meta">MCP 2026-07-28, _meta</a>
 */
public record RequestMeta(
        Optional<String> capabilities, Set<String> answers, boolean tasks, Optional<String> logLevel) {
    private static final String PREFIX = "io.modelcontextprotocol/";
    private static final String TASKS = PREFIX + "tasks";
    /** The levels of the log, from the least on. */
    private static final List<String> LEVELS =
            List.of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency");

    private static final Set<String> QUESTIONS = Set.of("elicitation", "sampling", "roots");

    /** Reads it from a message as its client has sent it. */
    public static RequestMeta of(Envelope request) {
        Reading reading = new Reading();
        Envelope.Span span = request.metaSpan();
        if (span.present()) {
            JsonPeek.read(request.bytes(), span.from(), span.to(), reading::member);
        }
        return new RequestMeta(reading.capabilities, Set.copyOf(reading.answers), reading.tasks, reading.logLevel);
    }

    /** Whether its client wants to hear a line of the log; if it wants any, also one of a level that nobody knows. */
    public boolean hears(byte[] line) {
        return logLevel.isPresent()
                && JsonPeek.string(line, "params", "level")
                        .map(LEVELS::indexOf)
                        .filter(level -> level >= 0 && level < LEVELS.indexOf(logLevel.get()))
                        .isEmpty();
    }

    /** What a request is about, which its header {@code Mcp-Name} repeats. */
    public static Optional<String> subject(Envelope request) {
        return switch (request.method()) {
            case "tools/call", "prompts/get" -> request.name();
            case "resources/read" -> request.uri();
            case "tasks/get", "tasks/update", "tasks/cancel" -> JsonPeek.string(request.bytes(), "params", "taskId");
            default -> Optional.empty();
        };
    }

    /** What was read so far. */
    private static final class Reading {
        private Optional<String> capabilities = Optional.empty();
        private final Set<String> answers = new TreeSet<>();
        private boolean tasks;
        private Optional<String> logLevel = Optional.empty();

        private void member(String name, JsonParser value) {
            if (name.equals(Envelope.CLIENT_CAPABILITIES) && JsonPeek.isObject(value)) {
                Map<String, String> members = new TreeMap<>();
                JsonPeek.members(value, (capability, what) -> {
                    if (capability.equals("extensions")) {
                        extensions(what).ifPresent(others -> members.put("\"extensions\"", others));
                    } else {
                        if (JsonPeek.isObject(what) && QUESTIONS.contains(capability)) {
                            answers.add(capability);
                        }
                        members.put(JsonText.quoted(capability), JsonPeek.json(what));
                    }
                });
                capabilities = Optional.of(JsonPeek.object(members));
            } else if (name.equals(Envelope.LOG_LEVEL)) {
                logLevel = Optional.of(JsonPeek.isString(value) ? value.getString() : "");
            }
        }

        /** Those that its server has to know of, if there are any. */
        private Optional<String> extensions(JsonParser value) {
            Map<String, String> others = new TreeMap<>();
            JsonPeek.members(value, (extension, settings) -> {
                if (extension.equals(TASKS)) {
                    tasks = true;
                } else {
                    others.put(JsonText.quoted(extension), JsonPeek.json(settings));
                }
            });
            return others.isEmpty() ? Optional.empty() : Optional.of(JsonPeek.object(others));
        }
    }
}
