package dev.holdfast.servlet;

import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

/** One wire protocol under which an engine is served. Another protocol is another face, not a condition in these. */
interface Face {
    /** Whether a request is for this face; the first face that says so gets it. */
    boolean serves(HttpServletRequest request);

    /** The methods that the path of a request takes, as a header names them. */
    String methods(HttpServletRequest request);

    /** Adds the headers of all its answers, those to rejected requests too. */
    default void prepare(HttpServletResponse response) {}

    /** Handles a request that {@link Door} has let in: returns the first step. */
    Step serve(Exchange exchange);

    /** Ends what it runs by itself. */
    default void stop() {}
}
