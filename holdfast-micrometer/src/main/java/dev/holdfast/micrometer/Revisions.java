package dev.holdfast.micrometer;

import java.util.Set;

/** The revisions of the protocol with sessions. */
final class Revisions {
    private static final String OTHER = "other";
    private static final Set<String> KNOWN = Set.of("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25");

    private Revisions() {}

    /** The revision as a tag: a backend may agree to any text that a client sends, and a registry keeps each for ever. */
    static String tag(String revision) {
        return KNOWN.contains(revision) ? revision : OTHER;
    }
}
