package dev.holdfast.session;

import java.math.BigDecimal;
import java.time.Duration;

/** Writes a duration as people read it: {@code 12 s}, {@code 1.5 s}, {@code 250 ms}, {@code 23 min 5 s}, {@code 2 h}. */
public final class TimeText {
    private static final int MILLIS_OF_SECOND = 1000;

    private TimeText() {}

    /** The text of a duration from zero up; nothing below a millisecond. */
    public static String of(Duration duration) {
        long millis = duration.toMillis();
        if (millis < MILLIS_OF_SECOND) {
            return millis == 0 ? "0 s" : millis + " ms";
        }
        StringBuilder text = new StringBuilder();
        add(text, duration.toHours(), " h");
        add(text, duration.toMinutesPart(), " min");
        int rest = duration.toSecondsPart() * MILLIS_OF_SECOND + duration.toMillisPart();
        if (rest > 0) {
            text.append(BigDecimal.valueOf(rest, 3).stripTrailingZeros().toPlainString())
                    .append(" s ");
        }
        return text.toString().strip();
    }

    private static void add(StringBuilder text, long count, String unit) {
        if (count > 0) {
            text.append(count).append(unit).append(' ');
        }
    }
}
