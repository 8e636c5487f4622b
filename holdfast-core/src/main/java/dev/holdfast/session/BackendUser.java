package dev.holdfast.session;

import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;

/** Somebody who needs the backend, and never throws. */
interface BackendUser {
    /** How much it keeps while it waits. */
    long bytes();

    /** The context of the message that it brings. */
    default Object context() {
        return InboundMessage.NO_CONTEXT;
    }

    /** This incarnation of the backend was chosen; inside a step. */
    void handedTo(int incarnation);

    /** Uses it. */
    void use(BackendConnection connection);

    /** There will be none. */
    void refused(String cause);

    /** There will be none, for the session has closed. */
    default void dropped() {}
}
