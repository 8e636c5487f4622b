package dev.holdfast;

import java.util.Optional;

/** What a request's context is where somebody wants to see headers of the HTTP request that carried it: {@link CallListener#headers}. */
public interface RequestOrigin {
    /** A header that was asked for, if the request had it. */
    Optional<String> header(String name);
}
