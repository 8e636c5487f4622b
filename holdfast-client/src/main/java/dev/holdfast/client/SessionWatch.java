package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.time.Duration;

/** Hears what happens to a session and its connections, and says for how long they are tried. Must not block. */
public interface SessionWatch {
    /** Hears nothing. */
    SessionWatch NONE = new SessionWatch() {};

    /** The server cannot be reached, or a stream broke; what was lost is brought back from now on. */
    default void reconnecting(Throwable cause) {}

    /**
     * For how long is tried again what fails, from its first failure in a row on; asked at each.
     *
     * @param usual what the limits of the server say
     */
    default Duration patience(Duration usual) {
        return usual;
    }

    /** Everything that was broken is back; tells how long that took. */
    default void resumed(Duration away) {}

    /** Messages that belong to no request are missing, or may be. */
    default void gap() {}

    /**
     * The server does not have the session any more. Told once.
     *
     * @param session which one it is, of several that tell the same watch
     */
    default void gone(Object session) {}

    /** The server had lost a session that is held. Another one has taken its place. */
    default void sessionReplaced() {}

    /**
     * The server goes on with a request by itself. Who sends another one gets the same answer, from any session.
     *
     * @param request the id of the first
     * @param other under the same id and progress token; does no harm, however often it is sent
     */
    default void goesOnAs(RequestId request, Envelope other) {}

    /** The listening stream could not be had for as long as the retry policy allows. A message that reaches the server opens it again. */
    default void listeningGivenUp() {}

    /** Something was given up or ignored that the application may want to know of. */
    default void failed(Throwable failure) {}
}
