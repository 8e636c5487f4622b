package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.wire.SseEvent;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CursorTest {
    private final Cursor cursor = new Cursor(true);

    @BeforeEach
    void connect() {
        cursor.connected();
    }

    private static SseEvent event(String id, String data) {
        return new SseEvent(Optional.of(id), SseEvent.MESSAGE, data.getBytes(UTF_8));
    }

    /** Whether the event is taken. */
    private boolean take(String id, String data) {
        boolean fresh = cursor.isNew(event(id, data), Optional.of("s1"));
        if (fresh) {
            cursor.passed(event(id, data));
        }
        return fresh;
    }

    @Test
    void replayThatOverlapsWithWhatIsLiveComesOnce() {
        assertThat(take("3", "three")).isTrue();
        assertThat(take("3", "three")).isFalse();
        assertThat(take("4", "four")).isTrue();
        assertThat(cursor.last()).contains("4");
    }

    @Test
    void whatCameOnAnEarlierConnectionIsKnown() {
        take("3", "three");
        cursor.connected();
        assertThat(take("3", "three")).isFalse();
    }

    @Test
    void idOfTwoMessagesOnOneConnectionIsNone() {
        assertThat(take("3", "three")).isTrue();
        assertThat(take("3", "another")).isTrue();
        assertThat(cursor.last()).isEmpty();
    }

    @Test
    void idThatIsUsedAgainOnAnotherConnectionIsThatOfANewMessage() {
        take("3", "three");
        cursor.connected();
        assertThat(take("3", "another")).isTrue();
        assertThat(cursor.last()).contains("3");
    }

    @Test
    void idsThatNoHeaderCanHoldAndThatOfTheSessionAreNone() {
        take("\u00e9", "one");
        assertThat(cursor.last()).isEmpty();

        Cursor other = new Cursor(true);
        assertThat(other.isNew(event("s1", "one"), Optional.of("s1"))).isTrue();
        other.passed(event("s1", "one"));
        assertThat(other.last()).isEmpty();
    }

    @Test
    void emptyIdIsThatOfNoMessage() {
        assertThat(take("", "changed")).isTrue();
        assertThat(take("", "changed")).isTrue();
    }

    @Test
    void emptyIdTakesThePlaceAway() {
        take("3", "three");
        take("", "four");
        assertThat(cursor.last()).isEmpty();
    }
}
