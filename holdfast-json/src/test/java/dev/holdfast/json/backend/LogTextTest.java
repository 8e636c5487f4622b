package dev.holdfast.json.backend;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogTextTest {
    @ParameterizedTest
    @ValueSource(strings = {"x", "\u00e4", "\u20ac"})
    void theFirst200CharactersOfALongTextAreShown(String character) {
        assertThat(LogText.of(character.repeat(5_000).getBytes(UTF_8))).isEqualTo(character.repeat(200) + "...");
        assertThat(LogText.of(character.repeat(201).getBytes(UTF_8))).isEqualTo(character.repeat(200) + "...");
        assertThat(LogText.of(character.repeat(200).getBytes(UTF_8))).isEqualTo(character.repeat(200));
    }

    @Test
    void whatCouldForgeALineIsBlank() {
        assertThat(LogText.of("a\nb\u202ec\u2028d".getBytes(UTF_8))).isEqualTo("a b c d");
    }

    @Test
    void theRestOfALargeTextIsNotEvenRead() {
        byte[] large = "x".repeat(16 << 20).getBytes(UTF_8);
        LogText.of(large);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();

        LogText.of(large);

        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(1 << 20);
    }
}
