package dev.holdfast.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is known of an answer that comes on another stream than that of its POST, and may come there before the POST is answered. */
final class AnswerElsewhere {
    private boolean awaited;
    private @Nullable Throwable unreadable;

    /** The answer can come on another stream only; returns why it cannot be read, if it has come and cannot. */
    synchronized Optional<Throwable> expect() {
        awaited = true;
        return Optional.ofNullable(unreadable);
    }

    /** Whether the answer can come on another stream only. */
    synchronized boolean awaited() {
        return awaited;
    }

    /** It has come and cannot be read; returns whether it can come there only. */
    synchronized boolean unreadable(Throwable why) {
        unreadable = why;
        return awaited;
    }
}
