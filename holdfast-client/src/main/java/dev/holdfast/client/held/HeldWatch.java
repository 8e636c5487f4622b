package dev.holdfast.client.held;

import java.time.Duration;

/** Hears what happens to a session that is held. Must not block. */
public interface HeldWatch {
    /** Hears nothing. */
    HeldWatch NONE = new HeldWatch() {};

    /** The server cannot be reached, or a stream broke; what was lost is brought back from now on. */
    default void reconnecting(Throwable cause) {}

    /** Everything that was broken is back, after so long. */
    default void resumed(Duration away) {}

    /** Messages that belong to no request are missing, or may be. */
    default void gap() {}

    /** The server had lost the session. Another one has taken its place. */
    default void sessionReplaced() {}

    /** Something was given up or ignored that the application may want to know of. */
    default void failed(Throwable failure) {}
}
