package dev.holdfast.session;

import dev.holdfast.spi.BackendConnection;

/** Somebody who needs the backend, and never throws. */
interface BackendUser {
    /** How much it keeps while it waits. */
    long bytes();

    /** This incarnation of the backend was chosen; inside a step. */
    void handedTo(int incarnation);

    /** Uses it. */
    void use(BackendConnection connection);

    /** There will be none. */
    void refused(String cause);

    /** There will be none, for the session has closed. */
    default void dropped() {}
}
