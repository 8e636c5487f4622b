package dev.holdfast.servlet.http;

/**
 * What is to be done next for a request. A step does its part and returns what comes after it, rather than calling that: however many
 * steps a request has, they are done one after the other by {@link Exchange#follow}, on the thread that has the request at that moment.
 */
@FunctionalInterface
public interface NextStep {
    /** The request is answered, or goes on elsewhere. */
    NextStep DONE = () -> {
        throw new IllegalStateException("nothing comes after the last step");
    };

    /** Does this step, and returns the next; {@link #DONE} if there is none. */
    NextStep next();
}
