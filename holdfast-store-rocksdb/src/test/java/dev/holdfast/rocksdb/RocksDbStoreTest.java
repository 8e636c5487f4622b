package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.StreamId;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What this store does beside the contract. */
@Tag("jdk")
class RocksDbStoreTest {
    @AutoClose
    private final FolderBed bed = new FolderBed(Durability.PROCESS_DEATH);

    /** How many keys the sessions take, those of the index included. */
    private long keys() throws Exception {
        return keys(bed.store());
    }

    private static long keys(RocksDbStore store) throws Exception {
        AtomicLong count = new AtomicLong();
        Database database = store.sessions().database().current();
        database.scan(new byte[0], new byte[] {(byte) 0xff}, (key, value) -> count.incrementAndGet() > 0);
        return count.get();
    }

    private Database database() {
        return bed.store().sessions().database().current();
    }

    private void awaitKeys(long left) throws Exception {
        awaitKeys(bed.store(), left);
    }

    private static void awaitKeys(RocksDbStore store, long left) throws Exception {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (keys(store) > left) {
            assertThat(System.nanoTime()).as("the space is given back in time").isLessThan(deadline);
            LockSupport.parkNanos(Sample.PAUSE_NANOS);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PROCESS_DEATH", "POWER_LOSS"})
    void promisesWhatItWasBuiltWith(Durability durability) {
        try (FolderBed other = new FolderBed(durability)) {
            assertThat(other.store().promise().durability()).isEqualTo(durability);
            assertThat(other.store().promise().shared()).isFalse();
        }
    }

    @Test
    void aDeletedSessionLeavesNoKey() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        Sample.await(Sample.append(bed.store(), Sample.KEY, 1, 10));
        assertThat(keys()).isGreaterThan(3);
        Sample.await(bed.store().delete(Sample.KEY));
        assertThat(keys()).isZero();
    }

    /** A log may have more than was acknowledged before a write failed. */
    @Test
    void whatANewStartFindsBeyondTheLastWriteIsKnown() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        bed.reopen();
        DiskSessions sessions = bed.store().sessions();
        ReopeningDatabase database = sessions.database();
        database.reading(() -> {
            database.failed(new IOException("expected"));
            assertThat(sessions.<Boolean>loaded(Sample.KEY, Optional::isPresent))
                    .isTrue();
            Database.Batch more = new Database.Batch();
            more.put(Keys.event(Sample.KEY, StreamId.LISTENING, 1), new byte[0]);
            bed.write(more);
            return more;
        });
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (database.trouble().isPresent()) {
            assertThat(System.nanoTime()).as("it writes again in time").isLessThan(deadline);
            LockSupport.parkNanos(Sample.PAUSE_NANOS);
        }
        Sample.await(bed.store().delete(Sample.KEY));
        assertThat(keys()).isZero();
    }

    @Test
    void sessionsThatWereNotUsedAreNotInMemory() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.key(1)));
        Sample.await(Sample.create(bed.store(), Sample.key(2)));
        assertThat(bed.store().usage().inUse()).isEqualTo(2);
        bed.reopen();
        assertThat(bed.store().usage().inUse()).isZero();
        Sample.await(bed.store().claim(Sample.key(1), 7));
        assertThat(bed.store().usage().inUse()).isEqualTo(1);
    }

    @Test
    void expiredSessionsLeaveNoKeyThoughNobodyHasOpenedThem() throws Exception {
        for (int i = 0; i < 500; i++) {
            Sample.await(bed.store().create(Sample.key(i), Sample.FIRST, Sample.record(bed.millis() + 1000)));
            Sample.await(Sample.append(bed.store(), Sample.key(i), 1, 10));
        }
        bed.reopen();
        assertThat(keys()).isEqualTo(500 * 4);
        bed.advance(Duration.ofSeconds(1));
        awaitKeys(0);
    }

    @Test
    void aSweepThatHasFailedIsNotTheLast(@TempDir Path folder) throws Exception {
        AtomicLong now = new AtomicLong(1_000_000);
        CountDownLatch failed = new CountDownLatch(1);
        InstantSource clock = () -> {
            boolean sweeps = Thread.currentThread().getName().startsWith("holdfast-store-reader");
            if (sweeps && failed.getCount() > 0) {
                failed.countDown();
                throw new NoClassDefFoundError("expected");
            }
            return Instant.ofEpochMilli(now.get());
        };
        try (RocksDbStore store = RocksDbStore.builder(folder)
                .clock(clock)
                .memory(1 << 20)
                .sweepInterval(Duration.ofMillis(10))
                .open()) {
            assertThat(failed.await(30, TimeUnit.SECONDS)).isTrue();
            Sample.await(store.create(Sample.KEY, Sample.FIRST, Sample.record(now.get() + 1000)));
            assertThat(keys(store)).isPositive();
            now.addAndGet(2000);
            awaitKeys(store, 0);
        }
    }

    /** Too short, with a text that says to be as long as an array can be, and with fewer epochs than none. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "000000",
                "00000001 7fffffff",
                "00000001 00000000 00000000 0000000000000000 00000000 00000000 ffffffff"
            })
    void anExpiredSessionThatCannotBeReadLeavesNoKeyNorDoOthers(String header) throws Exception {
        for (int i = 0; i < 3; i++) {
            Sample.await(bed.store().create(Sample.key(i), Sample.FIRST, Sample.record(bed.millis() + 1000 + i)));
        }
        bed.reopen();
        Database.Batch spoilt = new Database.Batch();
        spoilt.put(Keys.header(Sample.key(0)), HexFormat.of().parseHex(header.replace(" ", "")));
        assertThat(database().tryWrite(spoilt)).isTrue();
        bed.advance(Duration.ofSeconds(2));
        awaitKeys(0);
        assertThat(bed.store().usage().unread())
                .hasValueSatisfying(why -> assertThat(why).contains("cannot read"));
    }

    /** RocksDB would let its caller wait: nothing is flushed, and every buffer is full. */
    @Test
    void anAppendDoesNotWaitWhereRocksDbStalls() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        Sample.await(Sample.create(bed.store(), Sample.key(1)));
        Database database = database();
        database.pause();
        List<CompletableFuture<Void>> stages = new ArrayList<>();
        List<Long> told = new ArrayList<>();
        long offset = 0;
        while (stages.isEmpty() || stages.get(stages.size() - 1).isDone()) {
            assertThat(offset).as("RocksDB stalls at last").isLessThan(5000);
            stages.add(append(++offset, told));
        }
        for (int more = 0; more < 20; more++) {
            stages.add(append(++offset, told));
        }
        CompletableFuture<Void> ofAnother =
                Sample.append(bed.store(), Sample.key(1), 1, 10).toCompletableFuture();
        assertThat(stages.get(stages.size() - 1)).isNotDone();
        assertThat(ofAnother).isNotDone();
        database.unpause();
        for (CompletableFuture<Void> stage : stages) {
            Sample.await(stage);
        }
        Sample.await(ofAnother);
        assertThat(told).isSorted().hasSize((int) offset);
        assertThat(Sample.await(bed.store().read(Sample.KEY, StreamId.LISTENING, 0, Integer.MAX_VALUE)))
                .hasSize((int) offset);
    }

    private CompletableFuture<Void> append(long offset, List<Long> told) {
        return Sample.append(bed.store(), Sample.KEY, offset, 4000)
                .thenRun(() -> told.add(offset))
                .toCompletableFuture();
    }

    /** A log that ends where it is torn must not end the next one too. */
    @Test
    void whatIsAppendedAfterATornTailOutlivesTheNextOpening() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        for (int offset = 1; offset <= 3; offset++) {
            Sample.await(Sample.append(bed.store(), Sample.KEY, offset, 100));
        }
        try (SessionStore torn = bed.openFlipped(bed.logBytes() - 5)) {
            Sample.await(Sample.append(torn, Sample.KEY, 3, 100));
            Sample.await(Sample.append(torn, Sample.KEY, 4, 100));
        }
        try (SessionStore again = bed.openDamagedAgain()) {
            assertThat(Sample.await(again.read(Sample.KEY, StreamId.LISTENING, 0, Integer.MAX_VALUE)))
                    .extracting(Event::offset)
                    .containsExactly(1L, 2L, 3L, 4L);
        }
    }

    @Test
    void theDiskIsGivenBackWhenSessionsEnd() throws Exception {
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 20; i++) {
                Sample.await(Sample.create(bed.store(), Sample.key(i)));
                for (int offset = 1; offset <= 10; offset++) {
                    Sample.await(Sample.append(bed.store(), Sample.key(i), offset, 10_000));
                }
            }
            for (int i = 0; i < 20; i++) {
                Sample.await(bed.store().delete(Sample.key(i)));
            }
        }
        // 20 MB went through a store that never held more than 2 MB
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (bed.store().usage().bytes() > 8_000_000) {
            assertThat(System.nanoTime()).as(bed.store().usage().toString()).isLessThan(deadline);
            LockSupport.parkNanos(Sample.PAUSE_NANOS);
        }
    }
}
