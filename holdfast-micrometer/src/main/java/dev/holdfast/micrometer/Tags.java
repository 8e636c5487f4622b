package dev.holdfast.micrometer;

import java.util.Locale;

/** How values are written as tags. */
final class Tags {
    private Tags() {}

    /** The name of a constant in lower case, with dashes. */
    static String of(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
