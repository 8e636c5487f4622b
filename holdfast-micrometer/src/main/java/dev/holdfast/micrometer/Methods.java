package dev.holdfast.micrometer;

import java.util.Set;

/** The methods of requests that clients send by the specification. */
final class Methods {
    private static final String OTHER = "other";
    private static final Set<String> KNOWN = Set.of(
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

    private Methods() {}

    /** The method as a tag: a client may send any name, and a registry keeps each for ever. */
    static String tag(String method) {
        return KNOWN.contains(method) ? method : OTHER;
    }
}
