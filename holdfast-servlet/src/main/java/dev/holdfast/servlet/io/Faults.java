package dev.holdfast.servlet.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.slf4j.Logger;

/** Tells peers that are gone, which is daily life, from faults of our own. */
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
