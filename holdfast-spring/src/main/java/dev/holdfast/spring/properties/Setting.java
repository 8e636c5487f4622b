package dev.holdfast.spring.properties;

import java.util.function.Function;

/**
 * A value, and the property that it comes from: one of Holdfast's, or one of Spring AI's that stands in for it.
 *
 * @param property the whole name
 * @param value what it says
 */
public record Setting<T>(String property, T value) {
    /** What comes of the value, as {@link Knob#turn}. */
    <R> R turn(Function<T, R> knob) {
        return Knob.turn(property, value, knob);
    }
}
