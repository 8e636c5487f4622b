package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Joins, fences and commits of several nodes; the tokens and tails by which one reads what others write. */
@SuppressWarnings("try") // what is open while a test runs need not be named there
public abstract class SharedContract extends SharedStoreContract {
    protected SharedContract(Supplier<? extends SharedBed> beds) {
        super(beds);
    }

    private static RecordChange put(String key) {
        return new RecordChange.JournalPut(key, bytes(key));
    }

    /** Creates the session in the hands of the first node; returns the epoch under which the second one has joined. */
    private Epoch beginWithTwo() {
        begin();
        return join(elsewhere(), 2, OTHER_NODE).claim().epoch();
    }

    @Test
    void nodesCanShareIt() {
        assertThat(store().promise().shared()).isTrue();
        assertThat(store().bus()).isSameAs(store().bus());
    }

    @Test
    @DisplayName("Creates a session under its first epoch, which is present in the hands of a node")
    void aSessionIsCreatedInTheHandsOfANode() {
        begin();
        assertThat(await(elsewhere().members(KEY))).containsExactly(new Member(FIRST, NODE));
        Throwable refused = failureOf(elsewhere().create(KEY, new Epoch(1, 9), record(), OTHER_NODE));
        assertThat(refused).isInstanceOf(IllegalStateException.class);
        assertThat(await(store().members(KEY))).containsExactly(new Member(FIRST, NODE));
    }

    @Test
    @DisplayName(
            "Joins a session: counts its next epoch, makes it present beside those that are, and returns what is kept")
    void aJoinFencesNobody() {
        begin();
        commit(store(), FIRST, 1, all(event(CALL, 1), unplaced(FIRST, "a")));
        SharedSessionStore.Joined joined = join(elsewhere(), -8, OTHER_NODE);
        Epoch second = new Epoch(2, -8);
        assertThat(joined.claim().epoch()).isEqualTo(second);
        assertThat(joined.claim().before()).containsExactly(FIRST);
        assertThat(joined.claim().streams()).containsOnlyKeys(LISTENING, CALL);
        assertThat(joined.claim().record().principal()).isEqualTo("somebody");
        assertThat(await(store().members(KEY)))
                .containsExactly(new Member(FIRST, NODE), new Member(second, OTHER_NODE));
        commit(store(), FIRST, 2, all(event(CALL, 2)));
        commit(elsewhere(), second, 1, all(unplaced(second, "b")));
        assertThat(await(store().look(KEY)).orElseThrow().epoch()).isEqualTo(second);
    }

    @Test
    @DisplayName("the next one, or one behind those that are left out")
    void anHeirMayLeaveOutOffsetsWhichCountAsTrimmed() {
        begin();
        commit(store(), FIRST, 1, all(event(CALL, 1), event(CALL, 2)));
        long next = 3 + SessionStore.LEFT_OUT;
        commit(store(), FIRST, 2, all(event(CALL, next), event(CALL, next + 1)));
        assertThat(await(elsewhere().look(KEY)).orElseThrow().streams())
                .containsEntry(CALL, new Extent(next + 1, next - 1));
        assertThat(read(CALL)).extracting(Event::offset).containsExactly(1L, 2L, next, next + 1);
    }

    @Test
    @DisplayName("Joins a session; empty where no such session exists")
    void aSessionThatIsNotThereIsNotJoined() {
        assertThat(await(store().join(KEY, 1, NODE))).isEmpty();
        begin();
        bed().advance(LIFE);
        assertThat(await(elsewhere().join(KEY, 1, NODE))).isEmpty();
        assertThat(await(elsewhere().members(KEY))).isEmpty();
    }

    @Test
    void ofManyWhoJoinAtOnceEachGetsAnEpochOfItsOwn() {
        begin();
        List<CompletableFuture<Epoch>> joins = IntStream.range(0, 20)
                .mapToObj(i -> (i % 2 == 0 ? store() : elsewhere()).join(KEY, i, "node-" + i))
                .map(stage -> stage.thenApply(
                                joined -> joined.orElseThrow().claim().epoch())
                        .toCompletableFuture())
                .toList();
        List<Integer> counters =
                joins.stream().map(join -> await(join).counter()).sorted().toList();
        assertThat(counters)
                .containsExactlyElementsOf(IntStream.rangeClosed(2, 21).boxed().toList());
        assertThat(await(store().members(KEY))).hasSize(21);
    }

    @Test
    @DisplayName("A claim is the join that fences everybody else")
    void aClaimFencesEverybody() {
        Epoch second = beginWithTwo();
        Epoch third = claim().epoch();
        assertThat(await(store().members(KEY))).containsExactly(new Member(third, ""));
        for (Epoch fenced : List.of(FIRST, second)) {
            assertFails(StaleEpochException.class, elsewhere().commit(KEY, fenced, 1, all(unplaced(fenced, "late"))));
        }
        assertThat(read(LISTENING)).isEmpty();
    }

    @Test
    @DisplayName(
            "Fences an epoch, so that nothing is committed under it any more; returns whether this call has fenced it")
    void whoIsFencedCommitsNothing() {
        Epoch second = beginWithTwo();
        assertThat(await(elsewhere().fence(KEY, FIRST))).isTrue();
        assertThat(await(store().fence(KEY, FIRST))).isFalse();
        assertThat(await(store().fence(KEY, new Epoch(2, 3))))
                .as("another nonce")
                .isFalse();
        assertThat(await(store().fence(OTHER, FIRST))).as("no such session").isFalse();
        assertFails(StaleEpochException.class, store().commit(KEY, FIRST, 1, all(event(CALL, 1))));
        assertFails(StaleEpochException.class, store().append(KEY, FIRST, all(event(CALL, 1))));
        assertFails(StaleEpochException.class, store().token(KEY, FIRST, CALL, SharedSessionStore.Part.HEIR, 0, 1));
        assertThat(read(CALL)).isEmpty();
        assertThat(await(store().members(KEY))).containsExactly(new Member(second, OTHER_NODE));
        commit(elsewhere(), second, 1, all(event(CALL, second, 1)));
    }

    @Test
    @DisplayName("a session without present epochs stays until it expires")
    void aSessionStaysThatEverybodyHasLeft() {
        begin();
        await(store().fence(KEY, FIRST));
        assertThat(await(store().members(KEY))).isEmpty();
        assertThat(join(elsewhere(), 2, OTHER_NODE).claim().before()).containsExactly(FIRST);
    }

    @Test
    @DisplayName(
            "Events of the listening stream whose offset is UNPLACED get the next offsets of that stream, in order")
    void theStorePlacesEventsOfTheListeningStream() {
        Epoch second = beginWithTwo();
        Event answer = event(CALL, 1);
        Appended one = commit(store(), FIRST, 1, all(unplaced(FIRST, "a"), answer, unplaced(FIRST, "b")));
        Appended two = commit(elsewhere(), second, 1, all(unplaced(second, "c")));
        Appended three = commit(store(), FIRST, 2, all(unplaced(FIRST, "d")));
        assertThat(List.of(one.listening(), two.listening(), three.listening())).containsExactly(2L, 3L, 4L);
        assertThat(told(read(LISTENING))).containsExactly("1: a", "2: b", "3: c", "4: d");
        assertThat(read(LISTENING)).extracting(Event::epoch).containsExactly(FIRST, FIRST, second, FIRST);
        assertSame(read(CALL).get(0), answer);
    }

    @Test
    void theLastOffsetOfTheListeningStreamOutlivesItsEvents() {
        begin();
        commit(store(), FIRST, 1, all(unplaced(FIRST, "a"), unplaced(FIRST, "b")));
        trim(LISTENING, 1, 2);
        assertThat(commit(store(), FIRST, 2, changing()).listening()).isEqualTo(2);
        assertThat(commit(store(), FIRST, 3, all(unplaced(FIRST, "c"))).listening())
                .isEqualTo(3);
        assertThat(told(read(LISTENING))).containsExactly("3: c");
    }

    @Test
    void whatManyCommitAtOnceStandsInTheListeningStreamOnceAndWithoutHoles() {
        Epoch second = beginWithTwo();
        List<CompletableFuture<Appended>> commits = IntStream.rangeClosed(1, 100)
                .boxed()
                .flatMap(i -> List.of(
                        store().commit(KEY, FIRST, i, all(unplaced(FIRST, "a" + i)))
                                .toCompletableFuture(),
                        elsewhere()
                                .commit(KEY, second, i, all(unplaced(second, "b" + i)))
                                .toCompletableFuture())
                        .stream())
                .toList();
        commits.forEach(StoreContract::await);
        List<Event> all = read(LISTENING);
        assertThat(all)
                .extracting(Event::offset)
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, 200).boxed().toList());
        for (Epoch epoch : List.of(FIRST, second)) {
            String name = epoch.equals(FIRST) ? "a" : "b";
            assertThat(all.stream()
                            .filter(event -> event.epoch().equals(epoch))
                            .map(event -> told(List.of(event)).get(0).split(": ", 2)[1]))
                    .as("in the order of the calls")
                    .containsExactlyElementsOf(IntStream.rangeClosed(1, 100)
                            .mapToObj(i -> name + i)
                            .toList());
        }
    }

    @Test
    @DisplayName("a commit that comes again under its epoch and number does nothing, and gets the answer of the first")
    void aCommitWhoseAnswerWasLostIsSentAgain() {
        Epoch second = beginWithTwo();
        Append append = new Append(List.of(unplaced(FIRST, "a")), List.of(put("level")), List.of());
        Appended first = commit(store(), FIRST, 1, append);
        commit(elsewhere(), second, 1, new Append(List.of(unplaced(second, "b")), List.of(put("x")), List.of()));
        assertThat(commit(store(), FIRST, 1, append)).isEqualTo(first);
        assertThat(commit(elsewhere(), FIRST, 1, append)).isEqualTo(first);
        assertThat(told(read(LISTENING))).containsExactly("1: a", "2: b");
        assertThat(commit(store(), FIRST, 2, changing())).isEqualTo(new Appended(2, 2));
    }

    @Test
    @DisplayName("Fails with a StaleEpochException under a number that is neither the last one nor the next")
    void whatLacksACommitBeforeItIsRefused() {
        begin();
        commit(store(), FIRST, 1, all(unplaced(FIRST, "a")));
        commit(store(), FIRST, 2, all(unplaced(FIRST, "b")));
        for (long wrong : new long[] {1, 4}) {
            assertFails(StaleEpochException.class, store().commit(KEY, FIRST, wrong, all(unplaced(FIRST, "c"))));
        }
        commit(store(), FIRST, SharedSessionStore.UNNUMBERED, all(unplaced(FIRST, "c")));
        commit(store(), FIRST, 3, all(unplaced(FIRST, "d")));
        assertThat(told(read(LISTENING))).containsExactly("1: a", "2: b", "3: c", "4: d");
    }

    @Test
    @DisplayName("how many commits have changed the record's journal so far, this one included")
    void theJournalHasAVersion() {
        begin();
        RecordChange started = new RecordChange.CallStarted(CALL, List.of(new RequestId("1")));
        assertThat(commit(store(), FIRST, 1, changing(started)).version()).isZero();
        Epoch second = join(elsewhere(), 2, OTHER_NODE).claim().epoch();
        assertThat(commit(elsewhere(), second, 1, changing(put("level"), put("roots")))
                        .version())
                .isOne();
        assertThat(commit(store(), FIRST, 2, changing(new RecordChange.JournalRemoved("roots")))
                        .version())
                .isEqualTo(2);
        assertThat(commit(store(), FIRST, 3, changing(new RecordChange.Negotiated("2025-11-25", bytes("i"))))
                        .version())
                .isEqualTo(3);
        assertThat(commit(elsewhere(), second, 2, changing(new RecordChange.CallEnded(CALL)))
                        .version())
                .isEqualTo(3);
        SharedSessionStore.Joined joined = join(store(), 3, NODE);
        assertThat(joined.version()).isEqualTo(3);
        assertThat(joined.claim().record().journal()).containsOnlyKeys("initialize", "level");
    }

    @Test
    @DisplayName("Fails with an IllegalStateException for a session that is not there")
    void nothingIsCommittedToASessionThatIsNotThere() {
        begin();
        await(elsewhere().delete(KEY));
        assertFails(IllegalStateException.class, store().commit(KEY, FIRST, 1, all(unplaced(FIRST, "a"))));
        assertFails(IllegalStateException.class, store().token(KEY, FIRST, CALL, SharedSessionStore.Part.READER, 0, 1));
        assertThat(await(store().members(KEY))).isEmpty();
    }

    @Test
    @DisplayName("Removes a session, and returns the epochs that were present until then")
    void whoRemovesASessionLearnsWhoHadIt() {
        Epoch second = beginWithTwo();
        assertThat(await(store().remove(KEY))).containsExactly(new Member(FIRST, NODE), new Member(second, OTHER_NODE));
        assertThat(await(elsewhere().remove(KEY))).isEmpty();
        assertThat(await(elsewhere().join(KEY, 3, OTHER_NODE))).isEmpty();
    }

    @Test
    @DisplayName("Removes a session, unless another epoch than this one is present; then it stays as it is")
    void aSessionStaysWhileAnotherNodeHasIt() {
        Epoch second = beginWithTwo();
        assertThat(await(store().delete(KEY, FIRST))).isFalse();
        await(elsewhere().fence(KEY, second));
        assertThat(await(store().delete(KEY, FIRST))).isTrue();
        assertThat(await(elsewhere().join(KEY, 3, OTHER_NODE))).isEmpty();
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
            beginTogether();
            commit(store(), FIRST, 2, all(unplaced(FIRST, "a")));
            assertThat(read(LISTENING)).hasSize(1);
        }
    }
}
