package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.UnreadableSessionException;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A session that can never be read again is lost alone. */
public abstract class UnreadableContract extends StoreContract<DamagedBed> {
    protected UnreadableContract(Supplier<? extends DamagedBed> beds) {
        super(beds);
    }

    @BeforeEach
    void fill() {
        create(OTHER);
        create();
        append(event(LISTENING, 1), event(LISTENING, 2), event(CALL, 1));
    }

    @Test
    @DisplayName(
            "What meets something of its session that can never be read again fails so: a claim, a look and an append")
    void aRecordThatCannotBeReadFailsAClaimAndAnAppend() {
        bed().spoilRecord(KEY);
        for (int again = 0; again < 2; again++) {
            assertFails(UnreadableSessionException.class, store().claim(KEY, 5));
            assertFails(UnreadableSessionException.class, store().look(KEY));
            assertFails(UnreadableSessionException.class, store().append(KEY, FIRST, only(event(LISTENING, 3))));
        }
    }

    @Test
    @DisplayName("What meets something of its session that can never be read again fails so: a read")
    void anEventThatCannotBeReadFailsARead() {
        bed().spoilEvent(KEY, 2);
        for (int again = 0; again < 2; again++) {
            assertFails(UnreadableSessionException.class, store().read(KEY, LISTENING, 0, Integer.MAX_VALUE));
        }
    }

    @Test
    @DisplayName("the session is lost then, and no other")
    void otherSessionsAreThere() {
        bed().spoilRecord(KEY);
        assertFails(UnreadableSessionException.class, store().claim(KEY, 5));
        assertThat(lookFor(OTHER)).isPresent();
    }

    @Test
    @DisplayName("Removes a session and all its events, those that cannot be read too: behind a record")
    void aSessionWhoseRecordCannotBeReadIsRemoved() {
        bed().spoilRecord(KEY);
        assertRemoved();
    }

    @Test
    @DisplayName("Removes a session and all its events, those that cannot be read too: an event")
    void aSessionWhoseEventCannotBeReadIsRemoved() {
        bed().spoilEvent(KEY, 1);
        assertRemoved();
    }

    private void assertRemoved() {
        await(store().delete(KEY));
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(read(LISTENING)).isEmpty();
        bed().reopen();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(read(CALL)).isEmpty();
        create();
        assertThat(read(LISTENING)).isEmpty();
        assertThat(lookFor(OTHER)).isPresent();
    }
}
