package dev.holdfast.session;

import java.nio.BufferUnderflowException;
import java.util.function.Supplier;

/** What the store has kept of a session makes no sense, and never will. */
public final class UnreadableException extends RuntimeException {
    private static final long serialVersionUID = 1;

    UnreadableException(RuntimeException cause) {
        super(cause);
    }

    /** Reads something that was kept, or throws one. */
    public static <T> T read(Supplier<T> reading) {
        try {
            return reading.get();
        } catch (IllegalArgumentException | ArithmeticException | BufferUnderflowException e) {
            throw new UnreadableException(e);
        }
    }
}
