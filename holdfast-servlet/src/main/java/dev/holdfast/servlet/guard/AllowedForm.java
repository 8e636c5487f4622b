package dev.holdfast.servlet.guard;

import java.util.List;
import java.util.regex.Pattern;

/** How hosts and origins are written that are allowed beside the server's own. */
public enum AllowedForm {
    /** {@code name}, {@code name:port} or {@code name:*}. */
    HOST("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9_-][A-Za-z0-9._-]*)(:(\\d{1,5}|\\*))?", "mcp.example, mcp.example:8443"),
    /** {@code scheme://name}, {@code scheme://name:port} or {@code scheme://name:*}, and what a page without an origin sends. */
    ORIGIN(
            "null|[A-Za-z][A-Za-z0-9+.-]*://(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:(\\d{1,5}|\\*))?",
            "https://app.example, http://dev.example:3000");

    private final Pattern pattern;
    private final String examples;

    AllowedForm(String pattern, String examples) {
        this.pattern = Pattern.compile("\\*|" + pattern);
        this.examples = examples;
    }

    /**
     * The same entries, none of which can be one that never matches.
     *
     * @throws IllegalArgumentException names the first that has another form
     */
    public List<String> require(String name, List<String> entries) {
        for (String entry : entries) {
            if (!pattern.matcher(entry.trim()).matches()) {
                throw new IllegalArgumentException(name + " must be as in " + examples + " or *, got " + entry);
            }
        }
        return List.copyOf(entries);
    }
}
