package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
                    .hasCauseInstanceOf(RocksDbStoreException.class)
                    .hasMessageContaining("cannot read");
            assertThat(store.usage().unread())
                    .hasValueSatisfying(why -> assertThat(why).contains(folder.toString(), "cannot read"));
            assertThat(store.usage().trouble()).isEmpty();
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
