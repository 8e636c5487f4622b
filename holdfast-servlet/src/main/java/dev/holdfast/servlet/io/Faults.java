package dev.holdfast.servlet.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.slf4j.Logger;

/** Logs failures of connections: a peer that is gone at DEBUG, a fault of this server at ERROR. */
public final class Faults {
    private Faults() {}

    /** Logs what ended a connection. Containers say by an {@link IllegalStateException} that a response is over. */
    public static void report(Logger log, String what, Throwable failure) {
        if (failure instanceof IOException
                || failure instanceof UncheckedIOException
                || failure instanceof IllegalStateException) {
            log.debug("{}: {}", what, failure.toString());
        } else {
            log.error("{}", what, failure);
        }
    }
}
