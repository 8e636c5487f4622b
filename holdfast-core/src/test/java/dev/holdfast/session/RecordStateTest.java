package dev.holdfast.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Lifetime;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.SessionRecord;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the engine keeps in the extension of a record, by this version and by others. */
class RecordStateTest {
    private static final Lifetime LIFETIME = Lifetime.DEFAULT;

    @Test
    void whatAnEarlierVersionHasKeptOpens() {
        RecordState.Extension now = new RecordState.Extension(LIFETIME, 3, 14, true, new Introduction(15, (byte) 5));
        byte[] packed = now.pack();
        assertThat(RecordState.Extension.of(record(packed))).isEqualTo(now);
        byte[] earlier = Arrays.copyOf(packed, packed.length - Long.BYTES - 1);
        assertThat(RecordState.Extension.of(record(earlier)))
                .isEqualTo(new RecordState.Extension(LIFETIME, 3, 14, true, Introduction.NONE));
        byte[] first = Arrays.copyOf(earlier, earlier.length - 1);
        assertThat(RecordState.Extension.of(record(first)))
                .isEqualTo(new RecordState.Extension(LIFETIME, 3, 14, false, Introduction.NONE));
    }

    @Test
    void whatAnotherVersionHasKeptIsLeftToIt() {
        byte[] other = new RecordState.Extension(LIFETIME, 3, 14, true, Introduction.NONE).pack();
        other[0]++;
        assertThatThrownBy(() -> RecordState.Extension.of(record(other)))
                .isInstanceOf(StoreUnavailableException.class)
                .hasRootCauseMessage("the session was kept by another version of this library");
        assertThatThrownBy(() -> RecordState.Extension.of(record(new byte[] {1, 2, 3})))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static SessionRecord record(byte[] extension) {
        return new SessionRecord(1, SessionRecord.SESSION, "", 0, extension, "", Map.of(), Map.of());
    }
}
