package dev.holdfast.gateway.http;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Decides who may see a page of the gateway. */
@FunctionalInterface
public interface Guard {
    /** Lets everybody see it. */
    Guard NONE = (request, response) -> true;

    /** Whether a request may go on; if not, it is answered. */
    boolean admits(HttpServletRequest request, HttpServletResponse response) throws IOException;
}
