package dev.holdfast.spring.properties;

import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;

/** Gives the value of a property to what checks its range, and names the property where it is refused. */
public final class Knob {
    private static final Pattern DURATION = Pattern.compile("PT[0-9.HMS]+");
    private static final Pattern GOT = Pattern.compile(", got .*$");

    private Knob() {}

    /**
     * What comes of a value.
     *
     * @throws InvalidPropertyException if the value is out of its range
     */
    static <T, R> R turn(String property, T value, Function<T, R> knob) {
        try {
            return knob.apply(value);
        } catch (IllegalArgumentException refused) {
            throw new InvalidPropertyException(property, readable(value), reason(refused));
        }
    }

    private static Object readable(Object value) {
        return value instanceof Duration duration ? simple(duration) : value;
    }

    private static String reason(IllegalArgumentException refused) {
        @Nullable String message = refused.getMessage();
        String range = GOT.matcher(message == null ? "this value is not taken" : message)
                .replaceFirst("");
        return DURATION.matcher(range).replaceAll(Knob::simple);
    }

    private static String simple(MatchResult found) {
        return simple(Duration.parse(found.group()));
    }

    /** As the property is written: {@code 100ms}, {@code 15s}, {@code 30m}, {@code 2h}, {@code 10d}. */
    public static String simple(Duration duration) {
        long millis = duration.toMillis();
        if (duration.toNanosPart() % 1_000_000 != 0) {
            return duration.toNanos() + "ns";
        }
        if (millis % 1_000 != 0) {
            return millis + "ms";
        }
        long seconds = millis / 1_000;
        if (seconds % 60 != 0 || seconds == 0) {
            return seconds + "s";
        }
        long minutes = seconds / 60;
        if (minutes % 60 != 0) {
            return minutes + "m";
        }
        return minutes % 1_440 == 0 ? minutes / 1_440 + "d" : minutes / 60 + "h";
    }

    /** Tells a store whose sessions it keeps, where the application has a name. */
    static void owner(Environment environment, BiConsumer<String, List<String>> store) {
        String name = environment.getProperty("spring.application.name", "");
        if (!name.isBlank()) {
            store.accept(name, List.of("spring.application.name", name));
        }
    }
}
