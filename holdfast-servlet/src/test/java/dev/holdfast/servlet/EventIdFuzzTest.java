package dev.holdfast.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.holdfast.EventId;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StreamId;

/** Any text: an event id that is written again as it was, or none. {@link SseFuzzTest} says how to run it. */
class EventIdFuzzTest {

    @FuzzTest(maxDuration = "3m")
    void anyTextIsAnIdThatIsWrittenAsItWasOrNone(FuzzedDataProvider data) {
        EventId written = new EventId(
                new StreamId(data.consumeInt(0, Integer.MAX_VALUE), data.consumeLong(0, Long.MAX_VALUE)),
                new Epoch(data.consumeInt(0, Integer.MAX_VALUE), data.consumeInt()),
                data.consumeLong(0, Long.MAX_VALUE));
        assertThat(EventId.parse(written.toString())).contains(written);

        String text = data.consumeRemainingAsString();
        EventId.parse(text).ifPresent(id -> {
            assertThat(id).hasToString(text);
            assertThat(EventId.parse(id.toString())).contains(id);
            assertThat(text).matches("[0-9a-z.-]{9,64}");
            assertThat(id.offset()).isNotNegative();
        });
    }
}
