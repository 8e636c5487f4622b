package dev.holdfast.servlet.guard;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Which revisions of the protocol are served: the legacy ones, with an {@code initialize} handshake. */
final class Revisions {
    /** The revisions whose requests are taken, newest first. */
    static final List<String> SUPPORTED = List.of("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05");

    private static final String FIRST_MODERN = "2026-07-28";
    private static final Pattern DATE = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");

    private Revisions() {}

    /** The modern, stateless revision that a request names, if it names one. */
    static Optional<String> modern(Optional<String> version) {
        return version.filter(v -> DATE.matcher(v).matches() && v.compareTo(FIRST_MODERN) >= 0);
    }
}
