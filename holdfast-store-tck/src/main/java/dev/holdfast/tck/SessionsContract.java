package dev.holdfast.tck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Records: what a session is beside its events, and that it is not there once its time has passed. */
public abstract class SessionsContract extends StoreContract<StoreBed> {
    protected SessionsContract(Supplier<? extends StoreBed> beds) {
        super(beds);
    }

    @Test
    @DisplayName("Creates a session under its first epoch")
    void createsASessionUnderItsFirstEpoch() {
        create();
        assertThat(claim().before()).containsExactly(FIRST);
    }

    @Test
    @DisplayName("fails with an IllegalStateException if the key exists")
    void failsWithAnIllegalStateExceptionIfTheKeyExists() {
        create();
        append(event(LISTENING, 1));
        assertFails(IllegalStateException.class, store().create(KEY, new Epoch(1, 78), record()));
        assertThat(read(LISTENING)).hasSize(1);
        assertThat(claim().before()).containsExactly(FIRST);
    }

    @Test
    @DisplayName("Why the store cannot be used now: empty where nothing is known to be wrong")
    void aStoreThatWorksTellsOfNoTrouble() {
        create();
        append(event(LISTENING, 1));
        assertThat(store().trouble()).isEmpty();
    }

    @Test
    void aRecordComesBackAsItWas() {
        Map<String, byte[]> journal = new LinkedHashMap<>();
        journal.put("initialize", bytes("{}"));
        journal.put("z", bytes("last of the alphabet, second in the journal"));
        journal.put("ä \u0000 \ud83d\ude00", new byte[0]);
        Map<StreamId, RunningCall> running = Map.of(
                CALL,
                new RunningCall(List.of(new RequestId("1"), new RequestId("\"1\"")), bytes("again")),
                new StreamId(1, 2),
                new RunningCall(List.of(), SessionRecord.NO_EXTENSION));
        SessionRecord record = new SessionRecord(
                3, "a kind of later", "sömebody", bed().millis() + 1000, new byte[] {0, -1}, "r", journal, running);
        await(store().create(KEY, FIRST, record));
        SessionRecord found = claim().record();
        assertThat(found).usingRecursiveComparison().isEqualTo(record);
        assertThat(found.journal().keySet()).containsExactlyElementsOf(journal.keySet());
    }

    @Test
    void theJournalKeepsThePlaceOfAMessageThatIsReplaced() {
        create();
        change(new RecordChange.JournalPut("level", bytes("debug")), new RecordChange.JournalPut("a", bytes("a")));
        change(new RecordChange.JournalPut("b", bytes("b")), new RecordChange.JournalPut("level", bytes("error")));
        change(new RecordChange.JournalRemoved("a"), new RecordChange.JournalRemoved("never there"));
        change(new RecordChange.JournalPut("a", bytes("a again")));
        Map<String, byte[]> journal = claim().record().journal();
        assertThat(journal.keySet()).containsExactly("initialize", "level", "b", "a");
        assertThat(journal.get("level")).isEqualTo(bytes("error"));
        assertThat(journal.get("a")).isEqualTo(bytes("a again"));
    }

    @Test
    void aCallRunsFromItsStartToItsEnd() {
        create();
        StreamId second = new StreamId(1, 2);
        change(
                new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))),
                new RecordChange.CallStarted(second, List.of(new RequestId("2")), bytes("again")));
        change(new RecordChange.CallEnded(CALL));
        assertThat(claim().record().running())
                .usingRecursiveComparison()
                .isEqualTo(Map.of(second, new RunningCall(List.of(new RequestId("2")), bytes("again"))));
    }

    @Test
    @DisplayName("A call that starts once more takes the place of what was kept of it")
    void aCallThatStartsOnceMore() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1")), bytes("first")));
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1")), bytes("second")));
        assertThat(claim().record().running())
                .usingRecursiveComparison()
                .isEqualTo(Map.of(CALL, new RunningCall(List.of(new RequestId("1")), bytes("second"))));
    }

    @Test
    @DisplayName("A call has ended; no error for one that is not known")
    void aCallThatEndsOnceMore() {
        create();
        change(new RecordChange.CallStarted(CALL, List.of(new RequestId("1"))));
        change(new RecordChange.CallEnded(CALL));
        change(new RecordChange.CallEnded(CALL));
        assertThat(claim().record().running()).isEmpty();
    }

    @Test
    void whatWasNegotiatedIsKeptWithItsInitialize() {
        await(store().create(KEY, FIRST, record(SessionRecord.LISTENING_SESSION, Map.of())));
        change(new RecordChange.Negotiated("2024-11-05", bytes("hello")));
        SessionRecord record = claim().record();
        assertThat(record.kind()).isEqualTo(SessionRecord.LISTENING_SESSION);
        assertThat(record.revision()).isEqualTo("2024-11-05");
        assertThat(record.journal().get(SessionRecord.INITIALIZE)).isEqualTo(bytes("hello"));
    }

    @Test
    void theExtensionOfARecordCanChange() {
        create();
        change(new RecordChange.Extended(bytes("beside")));
        assertThat(claim().record().extension()).isEqualTo(bytes("beside"));
    }

    @Test
    @DisplayName("Removes a session and all its events")
    void removesASessionAndAllItsEvents() {
        create();
        create(OTHER);
        append(event(LISTENING, 1), event(CALL, 1));
        await(store().delete(KEY));
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(read(LISTENING)).isEmpty();
        assertThat(read(CALL)).isEmpty();
        assertThat(lookFor(OTHER)).isPresent();
        create();
        assertThat(read(LISTENING)).isEmpty();
        assertThat(claim().streams()).isEmpty();
    }

    @Test
    @DisplayName("no error where there is none")
    void deletingWhatIsNotThereIsNoError() {
        await(store().delete(KEY));
        create();
        await(store().delete(KEY));
        await(store().delete(KEY));
    }

    @Test
    @DisplayName("with an IllegalStateException for a session that is not there")
    void anAppendToASessionThatIsNotThereFails() {
        assertFails(
                IllegalStateException.class, store().append(KEY, FIRST, new Append(List.of(), List.of(), List.of())));
    }

    @Test
    @DisplayName("empty where no such session exists")
    void aClaimOfASessionThatIsNotThereIsEmpty() {
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void anEmptyAppendIsAnAppend() {
        create();
        append();
        assertThat(claim().streams()).isEmpty();
    }

    @Test
    void aSessionIsThereUntilItsTime() {
        create();
        append(event(LISTENING, 1));
        bed().advance(LIFE.minusMillis(1));
        assertThat(read(LISTENING)).hasSize(1);
        assertThat(lookFor(KEY)).isPresent();
    }

    @Test
    @DisplayName("A session whose expiresAt has passed is not there, whoever asks")
    void aSessionWhoseTimeHasPassedIsNotThere() {
        create();
        append(event(LISTENING, 1));
        bed().advance(LIFE);
        assertFails(IllegalStateException.class, store().append(KEY, FIRST, only(event(LISTENING, 2))));
        assertThat(read(LISTENING)).isEmpty();
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(await(store().look(KEY))).isEmpty();
        assertThat(await(store().delete(KEY, new Epoch(7, 7)))).isTrue();
        await(store().delete(KEY));
    }

    @Test
    void aSessionCanBeRenewed() {
        create();
        change(new RecordChange.Expires(bed().millis() + LIFE.toMillis() * 3));
        bed().advance(LIFE.multipliedBy(2));
        append(event(LISTENING, 1));
        assertThat(claim().record().expiresAt()).isEqualTo(bed().millis() + LIFE.toMillis());
        bed().advance(LIFE);
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void aSessionCanBeMadeToExpireEarlier() {
        create();
        change(new RecordChange.Expires(bed().millis() + 1000));
        bed().advance(Duration.ofSeconds(1));
        assertThat(lookFor(KEY)).isEmpty();
    }

    @Test
    void theKeyOfAnExpiredSessionIsFree() {
        create();
        append(event(LISTENING, 1), event(CALL, 1));
        bed().advance(LIFE);
        Epoch other = new Epoch(1, 78);
        await(store().create(KEY, other, record()));
        assertThat(read(LISTENING)).isEmpty();
        await(store().append(KEY, other, only(event(LISTENING, 1))));
        assertThat(claim().before()).containsExactly(other);
    }

    @Test
    void theTimeOfOneSessionIsNotThatOfAnother() {
        create();
        bed().advance(LIFE.dividedBy(2));
        create(OTHER);
        bed().advance(LIFE.dividedBy(2));
        assertThat(lookFor(KEY)).isEmpty();
        assertThat(lookFor(OTHER)).isPresent();
    }
}
