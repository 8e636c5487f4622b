package dev.holdfast.spring.properties;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.util.unit.DataSize;

/**
 * A value, and the property that it comes from: one of Holdfast's, or one of Spring AI's that stands in for it.
 *
 * @param property the whole name
 * @param value what it says
 */
public record Setting<T>(String property, T value) {
    private static final Pattern DURATION = Pattern.compile("PT[0-9.HMS]+");
    private static final Pattern BYTES = Pattern.compile("\\b[0-9]+\\b(?! [KMG]iB)");
    private static final List<String> UNITS = List.of("B", "KB", "MB", "GB", "TB");
    private static final Pattern GOT = Pattern.compile(", got .*$");

    /**
     * Gives the value to what checks its range.
     *
     * @throws InvalidPropertyException if the value is out of its range
     */
    <R> R turn(Function<T, R> knob) {
        try {
            return knob.apply(value);
        } catch (IllegalArgumentException outOfRange) {
            throw refused(outOfRange);
        }
    }

    /** The same for a property of Holdfast's. */
    public static <T, R> R turn(String property, T value, Function<T, R> knob) {
        return new Setting<>(property, value).turn(knob);
    }

    /** The same for a property that need not be set. */
    static <T> void turnIfSet(String property, @Nullable T value, Function<T, ?> knob) {
        if (value != null) {
            turn(property, value, knob);
        }
    }

    /** What stops the start: the reason without the value, which is named beside it, and both as properties are written. */
    InvalidPropertyException refused(IllegalArgumentException outOfRange) {
        @Nullable String message = outOfRange.getMessage();
        String range = GOT.matcher(message == null ? "this value is not taken" : message)
                .replaceFirst("");
        return new InvalidPropertyException(
                property,
                simple(value),
                value instanceof DataSize
                        ? BYTES.matcher(range)
                                .replaceAll(found -> simple(DataSize.ofBytes(Long.parseLong(found.group()))))
                        : DURATION.matcher(range).replaceAll(Setting::simple));
    }

    /** A value as a property is written. */
    private static String simple(@Nullable Object value) {
        if (value instanceof Duration duration) {
            return simple(duration);
        }
        if (value instanceof List<?> list) {
            return list.stream().map(String::valueOf).collect(Collectors.joining(","));
        }
        return value instanceof DataSize size ? simple(size) : String.valueOf(value);
    }

    private static String simple(DataSize size) {
        long number = size.toBytes();
        int unit = 0;
        while (number != 0 && number % 1024 == 0 && unit < UNITS.size() - 1) {
            number /= 1024;
            unit++;
        }
        return number + UNITS.get(unit);
    }

    private static String simple(MatchResult found) {
        return simple(Duration.parse(found.group()));
    }

    /** A duration as a property is written: {@code 100ms}, {@code 15s}, {@code 30m}, {@code 2h}, {@code 10d}. */
    public static String simple(Duration duration) {
        if (duration.isZero()) {
            return "0s";
        }
        boolean nanos = duration.toNanosPart() % 1_000_000 != 0;
        ChronoUnit unit = Stream.of(ChronoUnit.DAYS, ChronoUnit.HOURS, ChronoUnit.MINUTES, ChronoUnit.SECONDS)
                .filter(each ->
                        !nanos && duration.toMillis() % each.getDuration().toMillis() == 0)
                .findFirst()
                .orElse(nanos ? ChronoUnit.NANOS : ChronoUnit.MILLIS);
        return DurationStyle.SIMPLE.print(duration, unit);
    }
}
