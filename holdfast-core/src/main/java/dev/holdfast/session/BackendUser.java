package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;

/** Uses the backend once it is there. Its methods never throw. */
interface BackendUser {
    /** How much it keeps while it waits. */
    long bytes();

    default Object context() {
        return InboundMessage.NO_CONTEXT;
    }

    /** It has come to use the backend; called once, before all else. */
    default void comes(Step step) {}

    /** Whether there is something left for a backend that has yet to come. */
    default boolean wanted(Step step) {
        return true;
    }

    /** Whether it waits on where a backend cannot be had for the moment; else it is turned away then. */
    default boolean waitsOn() {
        return false;
    }

    /** This incarnation of the backend was chosen. */
    void handedTo(int incarnation, Step step);

    void use(BackendConnection connection);

    /** There will be none. */
    default void turnAway(String cause, Step step) {
        turnedAway(step);
        step.then(() -> refused(cause));
    }

    /** No incarnation will be chosen. */
    default void turnedAway(Step step) {}

    /** There will be none. */
    void refused(String cause);

    /** There will be none, for the session has closed. */
    default void dropped() {}
}
