package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StaleEpochException;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What a durable store keeps over an orderly close, and over the death of its process. */
public abstract class ReopenContract extends StoreContract<DurableBed> {
    protected ReopenContract(Supplier<? extends DurableBed> beds) {
        super(beds);
    }

    @Test
    @DisplayName("Says what a completed append survives")
    void promisesToSurviveMoreThanNothing() {
        assertThat(store().promise().durability()).isNotEqualTo(Durability.NOTHING);
    }

    @Test
    @DisplayName("completed appends keep their promise")
    void whatWasAppendedIsThereAfterAClose() {
        fill();
        bed().reopen();
        assertFilled();
    }

    @Test
    void whatWasAppendedIsThereAfterACrash() {
        fill();
        bed().crash();
        assertFilled();
        bed().crash();
        assertFilled();
    }

    private void fill() {
        create();
        change(
                new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))),
                new RecordChange.JournalPut("level", bytes("debug")));
        append(event(LISTENING, 1), event(LISTENING, 2), event(CALL, 1), event(CALL, 2));
        trim(LISTENING, 1, 2);
        trim(CALL, 1);
    }

    private void assertFilled() {
        assertThat(told(read(CALL))).containsExactly("2: 1 @2");
        assertThat(read(LISTENING)).isEmpty();
        SessionStore.Claim claim = claim();
        assertThat(claim.before()).startsWith(FIRST);
        assertThat(claim.streams()).isEqualTo(Map.of(LISTENING, new Extent(2, 2), CALL, new Extent(2, 1)));
        assertThat(claim.record().journal().keySet()).containsExactly("initialize", "level");
        assertThat(claim.record().running()).containsOnlyKeys(CALL);
        assertThat(claim.certainFrom()).isOne();
    }

    @Test
    void anEpochThatWasFencedStaysFenced() {
        create();
        Epoch second = claim().epoch();
        bed().crash();
        assertFails(StaleEpochException.class, store().append(KEY, FIRST, only(event(LISTENING, 1))));
        await(store().append(KEY, second, only(event(LISTENING, 1))));
        bed().reopen();
        assertThat(claim().epoch().counter()).isEqualTo(3);
    }

    @Test
    void theJournalGoesOnWhereItWas() {
        create();
        change(new RecordChange.JournalPut("a", bytes("a")), new RecordChange.JournalPut("b", bytes("b")));
        bed().crash();
        change(new RecordChange.JournalPut("a", bytes("a2")), new RecordChange.JournalPut("c", bytes("c")));
        bed().reopen();
        assertThat(claim().record().journal().keySet()).containsExactly("initialize", "a", "b", "c");
    }

    @Test
    void streamsGoOnWhereTheyWere() {
        create();
        append(event(CALL, 1), event(CALL, 2), event(LISTENING, 1));
        bed().crash();
        append(event(CALL, 3));
        trim(CALL, 1, 2);
        trim(LISTENING, 1);
        bed().crash();
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(1, 1), CALL, new Extent(3, 2)));
        await(store().append(
                        KEY, new Epoch(2, 5), new Append(List.of(), List.of(), List.of(new Append.Trim(CALL, 3)))));
        bed().crash();
        assertThat(claim().streams()).containsOnlyKeys(LISTENING);
    }

    @Test
    void whatWasDeletedStaysDeleted() {
        fill();
        create(OTHER);
        await(store().delete(KEY));
        bed().crash();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(read(CALL)).isEmpty();
        bed().reopen();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(lookFor(OTHER)).isPresent();
    }

    @Test
    @DisplayName("also when nobody runs who knew the session")
    void aSessionExpiresWhileNobodyRuns() {
        create();
        change(new RecordChange.Expires(bed().millis() + LIFE.toMillis() * 2));
        create(OTHER);
        bed().crash();
        bed().advance(LIFE);
        assertThat(lookFor(OTHER)).isEmpty();
        assertThat(lookFor(KEY)).isPresent();
        bed().reopen();
        bed().advance(LIFE);
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void manySessionsAreThereAfterACrash() {
        for (int i = 0; i < 200; i++) {
            SessionKey key = SessionKey.of("session " + i, "");
            create(key);
            await(store().append(key, FIRST, only(event(LISTENING, 1))));
        }
        bed().crash();
        for (int i = 0; i < 200; i++) {
            SessionKey key = SessionKey.of("session " + i, "");
            assertThat(lookFor(key).orElseThrow().last(LISTENING)).isOne();
        }
    }
}
