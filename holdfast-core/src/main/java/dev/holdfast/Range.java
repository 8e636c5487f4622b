package dev.holdfast;

import java.time.Duration;

/** The check of a knob's value against the range that its Javadoc names. */
final class Range {
    private Range() {}

    /**
     * Lets a number pass that is in its range.
     *
     * @throws IllegalArgumentException names the knob and its range
     */
    static void require(String name, long value, long least, long most) {
        if (value < least || value > most) {
            String range = most == Long.MAX_VALUE ? "at least " + least : least + " to " + most;
            throw new IllegalArgumentException(name + " must be " + range + ", got " + value);
        }
    }

    /**
     * Lets a time pass that is long enough.
     *
     * @throws IllegalArgumentException names the knob and its least value
     */
    static void require(String name, Duration value, Duration least) {
        if (value.compareTo(least) < 0) {
            String range = least.isZero() ? "not be negative" : "be at least " + least.toMillis() + " ms";
            throw new IllegalArgumentException(name + " must " + range + ", got " + value);
        }
    }
}
