package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Extent;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What is trimmed is gone, and a claim tells how far. */
public abstract class TrimContract extends StoreContract {
    protected TrimContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    @Test
    @DisplayName("Events are trimmed one by one, anywhere in a stream")
    void eventsAreTrimmedOneByOne() {
        create();
        append(event(LISTENING, 1), event(LISTENING, 2), event(LISTENING, 3), event(LISTENING, 4));
        trim(LISTENING, 3, 1);
        assertThat(read(LISTENING)).extracting(Event::offset).containsExactly(2L, 4L);
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(4, 3)));
    }

    @Test
    void theHighestTrimmedOffsetNeverFalls() {
        create();
        append(event(LISTENING, 1), event(LISTENING, 2), event(LISTENING, 3));
        trim(LISTENING, 2);
        trim(LISTENING, 1);
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(3, 2)));
    }

    @Test
    @DisplayName("one that is already gone is no error")
    void trimmingWhatIsGoneChangesNothing() {
        create();
        append(event(LISTENING, 1), event(CALL, 1));
        trim(LISTENING, 1);
        trim(LISTENING, 1, 7);
        trim(CALL, 9);
        assertThat(read(CALL)).hasSize(1);
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(1, 1), CALL, new Extent(1, 0)));
    }

    @Test
    @DisplayName("the listening stream is known for the session's life")
    void theListeningStreamIsKnownThoughAllOfItIsTrimmed() {
        create();
        append(event(LISTENING, 1), event(LISTENING, 2));
        trim(LISTENING, 1, 2);
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(2, 2)));
    }

    @Test
    @DisplayName("another one while it has events")
    void aRequestStreamIsKnownWhileItHasEvents() {
        create();
        append(event(CALL, 1), response(CALL, 2, "1"));
        trim(CALL, 1);
        assertThat(claim().streams()).isEqualTo(Map.of(CALL, new Extent(2, 1)));
    }

    @Test
    void aRequestStreamAllOfWhichIsTrimmedIsForgotten() {
        create();
        append(event(CALL, 1), response(CALL, 2, "1"));
        trim(CALL, 1);
        trim(CALL, 2);
        assertThat(claim().streams()).isEmpty();
    }

    @Test
    @DisplayName("or its call runs")
    void theStreamOfARunningCallIsKnownThoughAllOfItIsTrimmed() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))));
        append(event(CALL, 1), event(CALL, 2));
        trim(CALL, 1, 2);
        assertThat(claim().streams()).isEqualTo(Map.of(CALL, new Extent(2, 2)));
    }

    @Test
    void theStreamOfACallThatEndsWithNothingLeftIsForgotten() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))));
        append(event(CALL, 1));
        trim(CALL, 1);
        change(new RecordChange.CallEnded(CALL));
        assertThat(claim().streams()).isEmpty();
    }

    @Test
    void theStreamOfACallThatEndsWithItsResponseIsKnown() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))));
        append(event(CALL, 1));
        trim(CALL, 1);
        Append end = new Append(List.of(response(CALL, 2, "1")), List.of(new RecordChange.CallEnded(CALL)), List.of());
        await(store().append(KEY, FIRST, end));
        assertThat(claim().streams()).isEqualTo(Map.of(CALL, new Extent(2, 1)));
    }

    @Test
    void appendAndTrimAreOneStep() {
        create();
        append(event(LISTENING, 1));
        Append both = new Append(List.of(event(LISTENING, 2)), List.of(), List.of(new Append.Trim(LISTENING, 1)));
        await(store().append(KEY, FIRST, both));
        assertThat(told(read(LISTENING))).containsExactly("2: 0 @2");
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(2, 1)));
    }
}
