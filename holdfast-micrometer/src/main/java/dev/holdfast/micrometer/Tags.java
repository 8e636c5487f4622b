package dev.holdfast.micrometer;

import java.util.Locale;
import java.util.Set;

/** How values are written as tags. A peer may choose any text, and a registry keeps each for ever: what is not known is "other". */
final class Tags {
    static final String OTHER = "other";

    /** The methods of requests that clients send by the specification. */
    private static final Set<String> METHODS = Set.of(
            "completion/complete",
            "initialize",
            "logging/setLevel",
            "ping",
            "prompts/get",
            "prompts/list",
            "resources/list",
            "resources/read",
            "resources/subscribe",
            "resources/templates/list",
            "resources/unsubscribe",
            "tasks/cancel",
            "tasks/get",
            "tasks/list",
            "tasks/result",
            "tools/call",
            "tools/list");

    /** The revisions of the protocol with sessions. */
    private static final Set<String> REVISIONS = Set.of("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25");

    private Tags() {}

    /** The name of a constant in lower case, with dashes. */
    static String of(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static String method(String method) {
        return METHODS.contains(method) ? method : OTHER;
    }

    static String revision(String revision) {
        return REVISIONS.contains(revision) ? revision : OTHER;
    }
}
