package dev.holdfast.servlet.guard;

import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A check that remembers the last value that passed: clients say the same again and again. Safe for use by any thread. */
final class LastPassed<T> {
    private final Predicate<T> check;
    private volatile @Nullable T last;

    LastPassed(Predicate<T> check) {
        this.check = check;
    }

    /** Whether a value passes; the check must always judge it alike. */
    boolean test(T value) {
        if (value.equals(last)) {
            return true;
        }
        boolean passes = check.test(value);
        if (passes) {
            last = value;
        }
        return passes;
    }
}
