package dev.holdfast.it;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/** One frame of an SSE stream: the lines up to a blank one. */
record Frame(List<String> lines) {
    Frame {
        lines = List.copyOf(lines);
    }

    Optional<String> id() {
        return field("id");
    }

    Optional<String> retry() {
        return field("retry");
    }

    Optional<String> event() {
        return field("event");
    }

    /** The data, empty where there is none. */
    String data() {
        return lines.stream()
                .filter(line -> line.startsWith("data:"))
                .map(line -> line.substring("data:".length()).stripLeading())
                .collect(Collectors.joining("\n"));
    }

    /** Whether it carries a message, and is not only there to prime, to advise or to show life. */
    boolean message() {
        return !data().isEmpty();
    }

    JsonNode json() {
        return Json.parse(data());
    }

    private Optional<String> field(String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst();
    }
}
