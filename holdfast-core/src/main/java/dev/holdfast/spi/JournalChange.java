package dev.holdfast.spi;

/**
 * What a client's message, once it has succeeded, changes in the session's journal: the short list of messages that brings a
 * fresh backend to the state of the one it replaces.
 */
public sealed interface JournalChange {
    /** The message leaves no trace in the journal; so do nearly all. */
    JournalChange NONE = new None();

    /** The message leaves no trace in the journal. */
    record None() implements JournalChange {}

    /**
     * The message takes the place of an earlier one under the same key, keeping its position, or is added at the end.
     *
     * @param key what the message is about, for example {@code logging/setLevel}
     */
    record Put(String key) implements JournalChange {}

    /**
     * The entry under this key is dropped.
     *
     * @param key what the message is about, for example {@code resources/subscribe} and the resource's URI
     */
    record Remove(String key) implements JournalChange {}
}
