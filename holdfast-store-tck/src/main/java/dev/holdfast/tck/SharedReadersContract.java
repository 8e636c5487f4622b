package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Who reads what other nodes write: tokens and tails. */
public abstract class SharedReadersContract extends SharedStoreContract {
    protected SharedReadersContract(Supplier<? extends SharedBed> beds) {
        super(beds);
    }

    private Epoch second = FIRST;

    /** The session, with a call that runs on the first node, and the second node in it. */
    private void beginTogether() {
        begin();
        commit(store(), FIRST, 1, changing(new RecordChange.CallStarted(CALL, List.of(new RequestId("1")))));
        second = join(elsewhere(), 2, OTHER_NODE).claim().epoch();
    }

    private long here(StreamId stream, Part part, long expected, long token) {
        return await(store().token(KEY, FIRST, stream, part, expected, token));
    }

    private long there(StreamId stream, Part part, long expected, long token) {
        return await(elsewhere().token(KEY, second, stream, part, expected, token));
    }

    @Test
    @DisplayName("Sets a token of a stream if it has the expected value, and returns the value that it has then")
    void aTokenIsSetByWhoeverKnowsIt() {
        beginTogether();
        assertThat(here(CALL, Part.READER, 0, 0))
                .as("a token that was never set")
                .isZero();
        assertThat(here(CALL, Part.READER, 0, 7)).isEqualTo(7);
        assertThat(there(CALL, Part.READER, 0, 8)).isEqualTo(7);
        assertThat(there(CALL, Part.READER, 7, Long.MIN_VALUE)).isEqualTo(Long.MIN_VALUE);
        assertThat(here(CALL, Part.READER, 7, 7)).as("to ask for one").isEqualTo(Long.MIN_VALUE);
        assertThat(here(CALL, Part.READER, Long.MIN_VALUE, Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
        assertThat(there(CALL, Part.READER, Long.MAX_VALUE, SharedSessionStore.NO_TOKEN))
                .isZero();
    }

    @Test
    void eachPartOfEachStreamHasATokenOfItsOwn() {
        beginTogether();
        long next = 1;
        for (StreamId stream : List.of(StreamId.LISTENING, CALL)) {
            for (Part part : Part.values()) {
                assertThat(here(stream, part, 0, next)).isEqualTo(next);
                next++;
            }
        }
        assertThat(there(StreamId.LISTENING, Part.HEIR, 0, 0)).isEqualTo(2);
        assertThat(there(CALL, Part.READER, 0, 0)).isEqualTo(4);
    }

    @Test
    void ofManyWhoSetATokenAtOnceOneDoes() {
        beginTogether();
        List<CompletableFuture<Long>> all = LongStream.rangeClosed(1, 20)
                .mapToObj(token -> (token % 2 == 0
                                ? store().token(KEY, FIRST, CALL, Part.HEIR, 0, token)
                                : elsewhere().token(KEY, second, CALL, Part.HEIR, 0, token))
                        .toCompletableFuture())
                .toList();
        long set = here(CALL, Part.HEIR, 0, 0);
        assertThat(set).isBetween(1L, 20L);
        assertThat(all).allSatisfy(one -> assertThat(await(one)).isEqualTo(set));
    }

    @Test
    void aTokenOutlivesWhoHasSetIt() {
        beginTogether();
        here(CALL, Part.HEIR, 0, 5);
        await(elsewhere().fence(KEY, FIRST));
        assertThat(there(CALL, Part.HEIR, 0, 6)).isEqualTo(5);
    }

    @Test
    @DisplayName("Calls hinted soon after each commit to a session, whichever node made it")
    void aCommitAnywhereHintsATail() {
        beginTogether();
        AtomicInteger hints = new AtomicInteger();
        try (SharedSessionStore.Tail tail = elsewhere().tail(KEY, hints::incrementAndGet)) {
            assertThat(tail).isNotNull();
            // the tail begins in a time of its own: commit until it has
            AtomicInteger number = new AtomicInteger(1);
            until("a hint of another node's commit", () -> {
                commit(store(), FIRST, number.incrementAndGet(), all(unplaced(FIRST, "a")));
                return hints.get() > 0;
            });
            for (int i = 0; i < 3; i++) {
                int before = hints.get();
                commit(store(), FIRST, number.incrementAndGet(), all(event(CALL, i + 1)));
                until("one hint more", () -> hints.get() > before);
            }
            int before = hints.get();
            commit(elsewhere(), second, 1, all(unplaced(second, "b")));
            until("a hint of this node's commit", () -> hints.get() > before);
        }
    }

    @Test
    @DisplayName("Calls hinted after its deletion, until the tail is closed")
    void aDeletionHintsATailThatIsNotClosed() {
        beginTogether();
        AtomicInteger hints = new AtomicInteger();
        AtomicInteger closed = new AtomicInteger();
        AtomicInteger number = new AtomicInteger(1);
        SharedSessionStore.Tail ended = elsewhere().tail(KEY, closed::incrementAndGet);
        SharedSessionStore.Tail tail = elsewhere().tail(KEY, hints::incrementAndGet);
        until("both have begun", () -> {
            commit(store(), FIRST, number.incrementAndGet(), all(unplaced(FIRST, "a")));
            return hints.get() > 0 && closed.get() > 0;
        });
        ended.close();
        // what was on its way may still come: after it, hints are counted for the other one alone
        until("hints go to one tail only", () -> {
            int before = closed.get();
            int known = hints.get();
            commit(store(), FIRST, number.incrementAndGet(), all(unplaced(FIRST, "b")));
            until("a hint", () -> hints.get() > known);
            return closed.get() == before;
        });
        int before = hints.get();
        await(store().delete(KEY));
        until("a hint of the deletion", () -> hints.get() > before);
        tail.close();
    }

    @Test
    void aTailOfASessionThatIsNotThereDisturbsNobody() {
        AtomicInteger hints = new AtomicInteger();
        try (SharedSessionStore.Tail tail = store().tail(OTHER, hints::incrementAndGet)) {
            assertThat(tail).isNotNull();
            beginTogether();
            commit(store(), FIRST, 2, all(unplaced(FIRST, "a")));
            assertThat(read(LISTENING)).hasSize(1);
        }
    }
}
