package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Events, their order, and what is left of a stream when some of them are trimmed. */
public abstract class EventsContract extends StoreContract<StoreBed> {
    protected EventsContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    @Test
    void anEventComesBackAsItWas() {
        create();
        List<Event> events = List.of(
                new Event(LISTENING, FIRST, 1, (byte) 2, new RequestId("\"ä\""), bytes("{\"ä\":\"\ud83d\ude00\"}")),
                new Event(LISTENING, new Epoch(1, -3), 2, (byte) 4, null, new byte[0]),
                new Event(LISTENING, FIRST, 3, (byte) 113, null, bytes("a kind of later")),
                new Event(LISTENING, FIRST, 4, (byte) -1, new RequestId("-1"), new byte[300_000]));
        append(events.toArray(Event[]::new));
        List<Event> found = read(LISTENING);
        assertThat(found).hasSameSizeAs(events);
        for (int i = 0; i < found.size(); i++) {
            assertSame(found.get(i), events.get(i));
        }
    }

    @Test
    void everyStreamHasItsOwnEvents() {
        create();
        create(OTHER);
        StreamId far = new StreamId(Integer.MAX_VALUE, Long.MAX_VALUE);
        append(event(CALL, 1), event(LISTENING, 1), event(far, 1), event(CALL, 2));
        assertThat(told(read(CALL))).containsExactly("1: 1 @1", "2: 1 @2");
        assertThat(told(read(LISTENING))).containsExactly("1: 0 @1");
        assertThat(read(far)).hasSize(1);
        assertThat(read(new StreamId(1, 2))).isEmpty();
        assertThat(await(store().read(OTHER, CALL, 0, 1000))).isEmpty();
        assertThat(claim().streams())
                .isEqualTo(Map.of(CALL, new Extent(2, 0), LISTENING, new Extent(1, 0), far, new Extent(1, 0)));
    }

    @Test
    @DisplayName("Returns the kept events of a stream after an offset, in order")
    void returnsTheEventsAfterAnOffsetInOrder() {
        create();
        List<Event> many = new ArrayList<>();
        for (int offset = 1; offset <= 300; offset++) {
            many.add(event(LISTENING, offset));
        }
        append(many.toArray(Event[]::new));
        List<Event> found = await(store().read(KEY, LISTENING, 250, Integer.MAX_VALUE));
        assertThat(found).extracting(Event::offset).containsExactlyElementsOf(offsets(251, 300));
        assertThat(await(store().read(KEY, LISTENING, 300, 10))).isEmpty();
        assertThat(await(store().read(KEY, LISTENING, Long.MAX_VALUE, 10))).isEmpty();
    }

    private static List<Long> offsets(long first, long last) {
        return LongStream.rangeClosed(first, last).boxed().toList();
    }

    @Test
    @DisplayName("at least one if there is one, and no more than fit into maxBytes beyond that")
    void returnsAtLeastOneAndNoMoreThanFit() {
        create();
        append(event(LISTENING, 1), event(LISTENING, 2), event(LISTENING, 3));
        int size = event(LISTENING, 1).bytes().length;
        assertThat(await(store().read(KEY, LISTENING, 0, 0))).hasSize(1);
        assertThat(await(store().read(KEY, LISTENING, 0, size))).hasSize(1);
        assertThat(await(store().read(KEY, LISTENING, 0, 2 * size))).hasSize(2);
        assertThat(await(store().read(KEY, LISTENING, 0, 3 * size - 1))).hasSize(2);
        assertThat(await(store().read(KEY, LISTENING, 1, 2 * size))).hasSize(2);
    }

    @Test
    @DisplayName("none for a session that is not there")
    void readsNothingOfASessionThatIsNotThere() {
        assertThat(read(LISTENING)).isEmpty();
    }

    @Test
    @DisplayName("Appends all of it or nothing, in the order of the calls")
    void appendsInTheOrderOfTheCalls() {
        create();
        List<CompletionStage<Void>> stages = new ArrayList<>();
        List<Long> completed = new ArrayList<>();
        for (long offset = 1; offset <= 200; offset++) {
            long which = offset;
            CompletionStage<Void> stage = store().append(KEY, FIRST, only(event(LISTENING, offset)));
            stages.add(stage.thenRun(() -> {
                synchronized (completed) {
                    completed.add(which);
                }
            }));
        }
        stages.forEach(StoreContract::await);
        assertThat(completed).isSorted().hasSize(200);
        assertThat(read(LISTENING)).extracting(Event::offset).containsExactlyElementsOf(offsets(1, 200));
    }

    @Test
    void whatIsAppendedIsReadAtOnce() {
        create();
        for (int offset = 1; offset <= 50; offset++) {
            append(event(LISTENING, offset));
            assertThat(await(store().read(KEY, LISTENING, offset - 1, 1000))).hasSize(1);
        }
    }

    @Test
    void anAppendThatIsRefusedLeavesNothing() {
        create();
        append(event(LISTENING, 1));
        Append all = new Append(
                List.of(event(LISTENING, 2), event(CALL, 1)), List.of(), List.of(new Append.Trim(LISTENING, 1)));
        failureOf(store().append(KEY, new Epoch(1, 78), all));
        assertThat(told(read(LISTENING))).containsExactly("1: 0 @1");
        assertThat(claim().streams()).isEqualTo(Map.of(LISTENING, new Extent(1, 0)));
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
