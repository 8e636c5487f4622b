package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Extent;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The last append may be torn anywhere: it is there whole or not at all, and everything before it is there. */
public abstract class TornTailContract extends StoreContract<TornBed> {
    protected TornTailContract(Supplier<? extends TornBed> beds) {
        super(beds);
    }

    @Test
    @DisplayName("What a failed stage has left behind is whole or not there at all: a log cut anywhere")
    void aTailThatIsCutAnywhereIsWholeOrNotThere() {
        checkEveryByte(bed()::openCut);
    }

    @Test
    @DisplayName("What a failed stage has left behind is whole or not there at all: a byte that is wrong anywhere")
    void aTailWithAWrongByteAnywhereIsWholeOrNotThere() {
        checkEveryByte(bed()::openFlipped);
    }

    private void checkEveryByte(LongFunction<SessionStore> open) {
        create();
        append(event(LISTENING, 1), event(LISTENING, 2), event(CALL, 1));
        long start = bed().logBytes();
        Append last = new Append(
                List.of(event(LISTENING, 3), response(CALL, 2, "1")),
                List.of(new RecordChange.JournalPut("level", bytes("debug"))),
                List.of(new Append.Trim(LISTENING, 1)));
        await(store().append(KEY, FIRST, last));
        long end = bed().logBytes();
        assertThat(end).as("the log grows with an append").isGreaterThan(start);
        for (long at = start; at < end; at++) {
            try (SessionStore torn = open.apply(at)) {
                SessionStore.Claim claim =
                        await(torn.claim(KEY, 5)).orElseThrow(() -> new AssertionError("the session is lost"));
                assertThat(claim.streams())
                        .as("torn at byte %s of %s to %s", at, start, end)
                        .isIn(
                                Map.of(LISTENING, new Extent(2, 0), CALL, new Extent(1, 0)),
                                Map.of(LISTENING, new Extent(3, 1), CALL, new Extent(2, 0)));
                boolean whole = claim.last(LISTENING) == 3;
                assertThat(claim.record().journal().containsKey("level")).isEqualTo(whole);
                assertThat(told(await(torn.read(KEY, LISTENING, 0, 1000))))
                        .isEqualTo(whole ? List.of("2: 0 @2", "3: 0 @3") : List.of("1: 0 @1", "2: 0 @2"));
                assertThat(await(torn.read(KEY, CALL, 0, 1000))).hasSize(whole ? 2 : 1);
                await(torn.append(KEY, claim.epoch(), only(event(CALL, claim.last(CALL) + 1))));
            }
        }
    }
}
