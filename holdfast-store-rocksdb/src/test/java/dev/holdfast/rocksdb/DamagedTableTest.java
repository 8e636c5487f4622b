package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.UnreadableSessionException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksDBException;

/** A disk that gives back something else than was written. */
@Timeout(60)
class DamagedTableTest {
    private static final int EVENTS = 200;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private RocksDbStore open() {
        return RocksDbStore.builder(folder).memory(1 << 20).open();
    }

    @Test
    void whatCannotBeReadIsAClearErrorAndIsTold() throws Exception {
        try (RocksDbStore store = open()) {
            Sample.await(Sample.create(store, Sample.KEY));
            for (int offset = 1; offset <= EVENTS; offset++) {
                Sample.await(Sample.append(store, Sample.KEY, offset, 10_000));
            }
        }
        assertThat(damageTables()).isPositive();
        try (RocksDbStore store = open()) {
            assertThat(store.usage().unread()).isEmpty();
            assertThatThrownBy(() -> Sample.await(store.claim(Sample.KEY, 7)))
                    .hasCauseInstanceOf(UnreadableSessionException.class)
                    .hasMessageContaining("cannot read");
            assertThat(store.usage().unread())
                    .hasValueSatisfying(why -> assertThat(why).contains(folder.toString(), "cannot read"));
            assertThat(store.usage().trouble()).isEmpty();
        }
    }

    /** Each session is as large as several blocks. */
    @Test
    void aSessionOverADamagedBlockIsRemovedUnreadAndLeavesTheOthersAlone() throws Exception {
        List<SessionKey> keys = IntStream.range(0, 20).mapToObj(Sample::key).toList();
        try (RocksDbStore store = open()) {
            for (SessionKey key : keys) {
                Sample.await(Sample.create(store, key));
                for (int offset = 1; offset <= 10; offset++) {
                    Sample.await(Sample.append(store, key, offset, 10_000));
                }
            }
        }
        open().close();
        flipInTheMiddleOfATable();
        try (RocksDbStore store = open()) {
            List<SessionKey> lost = new ArrayList<>();
            for (SessionKey key : keys) {
                if (isLost(store, key)) {
                    lost.add(key);
                }
            }
            assertThat(lost).hasSize(1);
            Sample.await(store.delete(lost.get(0)));
            assertThat(Sample.await(store.claim(lost.get(0), 7))).isEmpty();
        }
        try (RocksDbStore store = open()) {
            for (SessionKey key : keys) {
                assertThat(isLost(store, key)).isFalse();
            }
        }
    }

    private static boolean isLost(RocksDbStore store, SessionKey key) throws Exception {
        return Sample.await(store.claim(key, 7)
                .thenCompose(claim -> store.read(key, StreamId.LISTENING, 0, Integer.MAX_VALUE))
                .handle((events, failure) -> {
                    boolean failed = failure != null;
                    if (failed) {
                        assertThat(failure).hasRootCauseInstanceOf(RocksDBException.class);
                    }
                    return failed;
                }));
    }

    private void flipInTheMiddleOfATable() throws IOException {
        try (DirectoryStream<Path> tables = Files.newDirectoryStream(folder.resolve("db"), "*.sst")) {
            try (RandomAccessFile file =
                    new RandomAccessFile(tables.iterator().next().toFile(), "rw")) {
                long middle = file.length() / 2;
                file.seek(middle);
                int was = file.read();
                file.seek(middle);
                file.write(~was);
            }
        }
    }

    /** Spoils what stands in the first third of every table: its blocks of data; returns how many there are. */
    private int damageTables() throws IOException {
        int damaged = 0;
        try (DirectoryStream<Path> tables = Files.newDirectoryStream(folder.resolve("db"), "*.sst")) {
            for (Path table : tables) {
                try (RandomAccessFile file = new RandomAccessFile(table.toFile(), "rw")) {
                    file.write(new byte[(int) (file.length() / 3)]);
                }
                damaged++;
            }
        }
        return damaged;
    }
}
