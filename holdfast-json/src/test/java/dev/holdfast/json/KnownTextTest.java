package dev.holdfast.json;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KnownTextTest {
    @ParameterizedTest
    @ValueSource(strings = {"2.0", "ping", "initialize", "tools/call", "notifications/initialized"})
    void knownTextsAreOneString(String text) {
        char[] chars = ("<" + text + ">").toCharArray();

        String first = EnvelopeScan.known(chars, 1, text.length());

        assertThat(first).isEqualTo(text);
        assertThat(EnvelopeScan.known(chars.clone(), 1, text.length())).isSameAs(first);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "2", "2.1", "pong", "Tools/call", "tools/cal", "tools/calls", "notifications/initialised"})
    void othersAreWhatTheyAre(String text) {
        assertThat(EnvelopeScan.known(text.toCharArray(), 0, text.length())).isEqualTo(text);
    }

    @Test
    void veryLongOnesAreWhatTheyAre() {
        String text = "x".repeat(100_000);

        assertThat(EnvelopeScan.known(text.toCharArray(), 0, text.length())).isEqualTo(text);
    }
}
