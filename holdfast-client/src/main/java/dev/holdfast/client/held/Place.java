package dev.holdfast.client.held;

import dev.holdfast.client.ServerSession;

/** Where the application's session is at its server. */
sealed interface Place {
    /** Which of the sessions at the server it is, from 0 on. */
    int number();

    /** A session at the server, ready. */
    record At(int number, ServerSession session) implements Place {}

    /** The session at the server is lost, and no other could be opened. */
    record Lost(int number) implements Place {}
}
