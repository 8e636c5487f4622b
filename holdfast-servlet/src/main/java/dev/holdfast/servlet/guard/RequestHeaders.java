package dev.holdfast.servlet.guard;

import java.util.Optional;

/** What the guard asks of a request before its body is read; the only way it knows HTTP. */
public interface RequestHeaders {
    /** The HTTP method. */
    String method();

    /** The values of a header, joined by commas. */
    Optional<String> header(String name);

    /** The host that the client calls, and its port where that is told; empty if the client names none. */
    String host();

    /** The size of the body, -1 if it is not announced. */
    long contentLength();

    /** The address of this host to which the request came. */
    String localAddress();
}
