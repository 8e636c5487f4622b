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
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rocksdb.RocksDBException;

/** A disk that gives back something else than was written. */
@Timeout(100)
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
        List<SessionKey> keys = filled();
        flipInTheMiddleOfATable();
        try (RocksDbStore store = open()) {
            int damaged = 0;
            for (SessionKey key : keys) {
                Kept kept = kept(store, key);
                damaged += kept == Kept.WHOLE ? 0 : 1;
                if (kept == Kept.UNREADABLE) {
                    Sample.await(store.delete(key));
                    assertThat(kept(store, key)).isEqualTo(Kept.GONE);
                }
            }
            assertThat(damaged)
                    .as("the block may end one session and begin the next")
                    .isBetween(1, 2);
        }
        try (RocksDbStore store = open()) {
            for (SessionKey key : keys) {
                assertThat(kept(store, key)).isNotEqualTo(Kept.UNREADABLE);
            }
        }
    }

    /** What is kept of a session. */
    private enum Kept {
        WHOLE,
        UNREADABLE,
        GONE
    }

    /** Where a compaction meets the damaged block, the store takes no claims until it has copied what can be read. */
    private static Kept kept(RocksDbStore store, SessionKey key) throws Exception {
        long start = System.nanoTime();
        Optional<Kept> kept = look(store, key);
        while (kept.isEmpty()) {
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            kept = look(store, key);
        }
        return kept.get();
    }

    /** What the store says now, unless it cannot say. */
    private static Optional<Kept> look(RocksDbStore store, SessionKey key) throws Exception {
        return Sample.await(store.claim(key, 7)
                .thenCompose(claim -> store.read(key, StreamId.LISTENING, 0, Integer.MAX_VALUE)
                        .thenApply(events -> Optional.of(claim.isPresent() ? Kept.WHOLE : Kept.GONE)))
                .exceptionally(failure -> {
                    assertThat(failure).hasRootCauseInstanceOf(RocksDBException.class);
                    return failure.getCause() instanceof UnreadableSessionException
                            ? Optional.of(Kept.UNREADABLE)
                            : Optional.empty();
                }));
    }

    private List<SessionKey> filled() throws Exception {
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
        return keys;
    }

    /** RocksDB takes no more writes once it has met a damaged block in the background. */
    @Test
    void aDamagedBlockDoesNotStopTheStoreWhenItIsCompacted() throws Exception {
        List<SessionKey> keys = filled();
        flipInTheMiddleOfATable();
        try (RocksDbStore store = open()) {
            awaitDamage(store);
            for (SessionKey key : keys) {
                Sample.await(store.claim(key, 7))
                        .ifPresent(claim -> assertThat(claim.certainFrom())
                                .isEqualTo(claim.epoch().counter()));
            }
            assertWholeOrGone(store, keys);
        }
        try (RocksDbStore store = open()) {
            assertThat(store.usage().damage()).isEmpty();
            // a block holds what is kept of a few sessions at most
            assertThat(gone(store, keys)).isLessThanOrEqualTo(4);
        }
    }

    /** Lets others write until RocksDB compacts. */
    private static void awaitDamage(RocksDbStore store) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(50);
        for (int i = 1000;
                store.usage().damage().isEmpty() || store.usage().trouble().isPresent();
                i++) {
            assertThat(System.nanoTime()).as(store.usage().toString()).isLessThan(deadline);
            SessionKey key = Sample.key(i);
            Sample.await(Sample.create(store, key)
                    .thenCompose(done -> Sample.append(store, key, 1, 10_000))
                    .exceptionally(refused -> null));
        }
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void aStoreWithATableThatCannotBeOpenedKeepsWhatCanBeRead(Damage damage) throws Exception {
        List<SessionKey> keys = filled();
        Path table = Damage.files(folder.resolve("db"), ".sst").get(0);
        if (damage == Damage.FLIPPED) {
            byte[] bytes = Files.readAllBytes(table);
            bytes[bytes.length - 10] ^= 0x55;
            Files.write(table, bytes);
        } else {
            damage.to(table);
        }
        try (RocksDbStore store = open()) {
            assertThat(store.usage().damage()).isPresent();
            assertWholeOrGone(store, keys);
            Sample.await(Sample.create(store, Sample.key(5000)));
        }
        assertThat(folder).isDirectoryNotContaining("glob:**db.*");
        try (RocksDbStore store = open()) {
            assertThat(store.usage().damage()).isEmpty();
            assertThat(Sample.await(store.claim(Sample.key(5000), 7))).isPresent();
        }
    }

    @Test
    void anIndexThatCannotBeReadIsMadeAnew() throws Exception {
        List<SessionKey> keys = filled();
        Path oldest = Damage.files(folder.resolve("db"), ".sst").get(0);
        byte[] bytes = Files.readAllBytes(oldest);
        bytes[20] ^= 0x55;
        Files.write(oldest, bytes);
        try (RocksDbStore store = RocksDbStore.builder(folder)
                .memory(1 << 20)
                .sweepInterval(Duration.ofMillis(10))
                .open()) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(50);
            while (store.usage().damage().isEmpty() || store.usage().trouble().isPresent()) {
                assertThat(System.nanoTime()).as(store.usage().toString()).isLessThan(deadline);
                LockSupport.parkNanos(Sample.PAUSE_NANOS);
            }
            assertWholeOrGone(store, keys);
            assertThat(gone(store, keys)).isLessThan(keys.size());
        }
    }

    @Test
    void aDatabaseThatIsGoneIsToldToBe() throws Exception {
        filled();
        FolderBed.remove(folder.resolve("db"));
        try (RocksDbStore store = open()) {
            assertThat(store.usage().damage()).isPresent();
        }
    }

    private static void assertWholeOrGone(RocksDbStore store, List<SessionKey> keys) throws Exception {
        for (SessionKey key : keys) {
            if (Sample.await(store.claim(key, 7)).isPresent()) {
                assertThat(Sample.await(store.read(key, StreamId.LISTENING, 0, Integer.MAX_VALUE)))
                        .hasSize(10);
            }
        }
    }

    private static int gone(RocksDbStore store, List<SessionKey> keys) throws Exception {
        int gone = 0;
        for (SessionKey key : keys) {
            gone += Sample.await(store.claim(key, 7)).isEmpty() ? 1 : 0;
        }
        return gone;
    }

    /** In the largest, whose middle holds what sessions were sent; in a small one it may hold the records of many. */
    private void flipInTheMiddleOfATable() throws IOException {
        Path table = Collections.max(
                Damage.files(folder.resolve("db"), ".sst"),
                Comparator.comparingLong(path -> path.toFile().length()));
        try (RandomAccessFile file = new RandomAccessFile(table.toFile(), "rw")) {
            long middle = file.length() / 2;
            file.seek(middle);
            int was = file.read();
            file.seek(middle);
            file.write(~was);
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

    /** A database of which nothing can be read is tried again and again. */
    @Test
    void whatIsKeptOfFailuresDoesNotGrow() throws Exception {
        open().close();
        StoreFolder wreck = StoreFolder.open(folder, true, "", Optional.empty());
        try {
            Files.writeString(wreck.database().resolve("CURRENT"), "damaged");
            DatabaseOpening opening = new DatabaseOpening(wreck, 1 << 20, true);
            RocksDBException cause = new RocksDBException("Corruption: test");
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> opening.salvage(cause)).isSameAs(cause);
            }
            assertThat(cause.getSuppressed()).hasSize(1);
        } finally {
            wreck.close();
        }
    }
}
