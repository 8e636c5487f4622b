package dev.holdfast.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DurationTextTest {
    @ParameterizedTest
    @CsvSource({
        "PT0S, 0 s",
        "PT0.000001S, 0 s",
        "PT0.25S, 250 ms",
        "PT1S, 1 s",
        "PT12S, 12 s",
        "PT1.5S, 1.5 s",
        "PT10.020S, 10.02 s",
        "PT60S, 1 min",
        "PT30M, 30 min",
        "PT23M0.113S, 23 min 0.113 s",
        "PT90M, 1 h 30 min",
        "PT24H5S, 24 h 5 s",
        "PT8760H, 8760 h",
    })
    void aDurationReadsLikeThis(Duration duration, String text) {
        assertThat(EngineClock.text(duration)).isEqualTo(text);
    }
}
