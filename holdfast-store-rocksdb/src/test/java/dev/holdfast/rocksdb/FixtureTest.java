package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A folder that the first version of format 1 has written opens for ever after. It is kept as {@code format-1.zip}; a new
 * format gets a file of its own beside it, written by {@link #main}.
 */
class FixtureTest {
    private static final StreamId CALL = new StreamId(1, 1);

    @TempDir
    Path temporary;

    @Test
    void whatFormatOneHasWrittenIsThere() throws Exception {
        Archive.unzip("/format-1.zip", temporary);
        try (RocksDbStore store = RocksDbStore.builder(temporary).open()) {
            Claim claim = Sample.await(store.claim(Sample.KEY, 6)).orElseThrow();
            assertThat(claim.epoch()).isEqualTo(new Epoch(3, 6));
            assertThat(claim.before()).containsExactly(Sample.FIRST, new Epoch(2, 5));
            assertThat(claim.streams()).isEqualTo(Map.of(StreamId.LISTENING, new Extent(3, 2), CALL, new Extent(1, 0)));
            SessionRecord record = claim.record();
            assertThat(record.principal()).isEqualTo("somebody");
            assertThat(record.kind()).isEqualTo(SessionRecord.SESSION);
            assertThat(record.revision()).isEqualTo("2025-11-25");
            assertThat(record.extension()).isEqualTo("beside".getBytes(UTF_8));
            assertThat(record.expiresAt()).isEqualTo(Long.MAX_VALUE);
            assertThat(record.journal().keySet()).containsExactly("initialize", "level");
            assertThat(record.running())
                    .usingRecursiveComparison()
                    .isEqualTo(Map.of(CALL, new RunningCall(List.of(new RequestId("\"r\"")), "again".getBytes(UTF_8))));
            List<Event> listening = Sample.await(store.read(Sample.KEY, StreamId.LISTENING, 0, 1000));
            assertThat(listening)
                    .usingRecursiveComparison()
                    .isEqualTo(List.of(event(StreamId.LISTENING, 1), event(StreamId.LISTENING, 3)));
            List<Event> call = Sample.await(store.read(Sample.KEY, CALL, 0, 1000));
            assertThat(call).usingRecursiveComparison().isEqualTo(List.of(response()));
        }
    }

    private static Event event(StreamId stream, long offset) {
        return new Event(stream, Sample.FIRST, offset, (byte) 99, null, ("event " + offset).getBytes(UTF_8));
    }

    private static Event response() {
        return new Event(CALL, Sample.FIRST, 1, EventKind.RESPONSE, new RequestId("7"), "{\"id\":7}".getBytes(UTF_8));
    }

    /** Writes the fixture of the present format. */
    public static void main(String[] args) throws Exception {
        Path folder = Files.createTempDirectory("fixture");
        try (RocksDbStore store = RocksDbStore.builder(folder).open()) {
            Sample.await(Sample.create(store, Sample.KEY));
            List<RecordChange> changes = List.of(
                    new RecordChange.CallStarted(CALL, List.of(new RequestId("\"r\"")), "again".getBytes(UTF_8)),
                    new RecordChange.JournalPut("level", "{}".getBytes(UTF_8)),
                    new RecordChange.Extended("beside".getBytes(UTF_8)));
            List<Event> events = List.of(
                    event(StreamId.LISTENING, 1),
                    event(StreamId.LISTENING, 2),
                    event(StreamId.LISTENING, 3),
                    response());
            Sample.await(store.append(Sample.KEY, Sample.FIRST, new Append(events, changes, List.of())));
            List<Append.Trim> trims = List.of(new Append.Trim(StreamId.LISTENING, 2));
            Sample.await(store.append(Sample.KEY, Sample.FIRST, new Append(List.of(), List.of(), trims)));
        }
        // the second life leaves a table and a log, so that both are in the fixture
        try (RocksDbStore store = RocksDbStore.builder(folder).open()) {
            Sample.await(store.claim(Sample.KEY, 5));
        }
        Archive.zip(folder, Path.of(args[0]));
        FolderBed.remove(folder);
    }
}
