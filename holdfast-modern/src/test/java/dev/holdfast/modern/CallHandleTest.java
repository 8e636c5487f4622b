package dev.holdfast.modern;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EventId;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallHandleTest {
    private static final EventId POSITION = new EventId(new StreamId(1, 2), new Epoch(3, -4), 5);

    @ParameterizedTest
    @ValueSource(strings = {"q7dY_-abc", "with.dots.in.it", "a/b c"})
    void aHandleIsReadAsItWasWritten(String session) {
        CallHandle handle = new CallHandle(session, POSITION, "nonce_-1");

        assertThat(CallHandle.parse(handle.toString())).contains(handle);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "......", "a", "1.2.3.4.5.nonce", "s.1.2.3.4.x!.nonce", "s.1.2.3.4.nonce"})
    void anotherTextIsNone(String text) {
        assertThat(CallHandle.parse(text)).isEmpty();
        assertThat(CallHandle.parse("x".repeat(600) + "." + POSITION + ".n")).isEmpty();
    }

    @Test
    void aNoteIsReadAsItWasWritten() {
        CallNote note = new CallNote(
                "nonce",
                true,
                17,
                18,
                Set.of("roots", "sampling"),
                new RequestId("\"with blanks\""),
                "tools/call",
                "digest",
                "Ann with blanks");

        assertThat(CallNote.of(note.pack())).contains(note);
        assertThat(CallNote.of("1 of another version".getBytes(UTF_8))).isEmpty();
    }
}
