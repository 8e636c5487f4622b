package dev.holdfast.gateway.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {
    @ParameterizedTest
    @CsvSource({"500ms, PT0.5S", "15s, PT15S", "30m, PT30M", "2h, PT2H", "0, PT0S", "0s, PT0S", "90S, PT1M30S"})
    void durationsAreReadAsPeopleWriteThem(String text, Duration duration) {
        assertThat(Durations.parse(text)).contains(duration);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "-1s", "1.5s", "15 s", "1d", "1h30m", "99999999999s", "PT5S"})
    void anythingElseIsNone(String text) {
        assertThat(Durations.parse(text)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"PT0S, 0", "PT0.25S, 250ms", "PT1.5S, 1500ms", "PT90S, 90s", "PT2M, 2m", "PT90M, 90m", "PT2H, 2h"})
    void durationsAreWrittenInTheLargestUnitThatHoldsThem(Duration duration, String text) {
        assertThat(Durations.text(duration)).isEqualTo(text);
    }
}
