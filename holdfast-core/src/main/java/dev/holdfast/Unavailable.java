package dev.holdfast;

/**
 * No session is opened, or comes back from the store, now.
 *
 * @param reason why
 */
public record Unavailable(Refusal reason) implements Opening, Finding {}
