package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A store tells what it has lost of a session by the extents of its streams. */
public abstract class LossContract extends StoreContract<LossyBed> {
    private static final RequestId REQUEST = new RequestId("1");

    protected LossContract(Supplier<? extends LossyBed> beds) {
        super(beds);
    }

    /** A stream of which one event was trimmed is known by that, whatever is lost of it. */
    private void fill() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(REQUEST)));
        append(event(CALL, 1), event(CALL, 2), event(LISTENING, 1), event(LISTENING, 2));
        trim(CALL, 1);
        trim(LISTENING, 1);
    }

    private Map<StreamId, Extent> streams() {
        return await(store().look(KEY)).orElseThrow().streams();
    }

    @Test
    @DisplayName("An event that a store has lost though nobody has trimmed it counts as trimmed")
    void whatIsLostInFrontOfWhatIsKeptCountsAsTrimmed() {
        fill();
        bed().loseEvents(KEY);
        Extent before = streams().get(CALL);
        long last = before == null ? 0 : before.last();
        await(store().append(KEY, FIRST, only(event(CALL, last + 1))));
        Extent extent = streams().get(CALL);
        assertThat(extent).isEqualTo(new Extent(last + 1, last));
        assertThat(read(CALL)).extracting(Event::offset).containsExactly(last + 1);
    }

    @Test
    @DisplayName("so that nothing is passed over that is not kept")
    void aStreamOfWhichAllIsLostIsKnown() {
        fill();
        bed().loseEvents(KEY);
        Map<StreamId, Extent> streams = streams();
        assertThat(streams).containsOnlyKeys(CALL, LISTENING);
        assertThat(streams.values()).allMatch(Extent::bare);
    }

    @Test
    @DisplayName("a call that has ended, and whose response is lost")
    void theStreamOfACallThatHasEndedIsKnownThoughItsResponseIsLost() {
        fill();
        Append end = new Append(List.of(response(CALL, 3, "1")), List.of(new RecordChange.CallEnded(CALL)), List.of());
        await(store().append(KEY, FIRST, end));
        bed().loseEvents(KEY);
        assertThat(streams()).hasEntrySatisfying(CALL, extent -> {
            assertThat(extent.bare()).isTrue();
            assertThat(List.of(List.of(), List.of(REQUEST)))
                    .as("as far as the store knows")
                    .contains(extent.lost());
        });
    }
}
