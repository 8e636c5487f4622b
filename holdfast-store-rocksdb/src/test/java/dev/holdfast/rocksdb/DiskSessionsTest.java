package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.SessionStore.Look;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A disk may be slow, and nobody else waits for what is read from it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DiskSessionsTest {
    private static final int MIB = 1 << 20;

    @AutoClose
    private final FolderBed bed = new FolderBed(Durability.PROCESS_DEATH);

    private DiskSessions sessions() {
        return bed.store().sessions();
    }

    private ReentrantLock lock(SessionKey key) {
        return sessions().database().lockOf(key);
    }

    /** A session that has the same lock as another. */
    private SessionKey neighbour(SessionKey key) {
        return IntStream.iterate(1, i -> i + 1)
                .mapToObj(Sample::key)
                .filter(other -> lock(other) == lock(key))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void whoAppendsDoesNotWaitForARead() throws Exception {
        SessionKey neighbour = neighbour(Sample.KEY);
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        Sample.await(Sample.create(bed.store(), neighbour));
        CountDownLatch reads = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Supplier<String> slow = () -> {
            reads.countDown();
            return after(release);
        };
        CompletableFuture<String> read =
                sessions().read(Sample.KEY, slow, "not there").toCompletableFuture();
        try {
            reads.await();
            Sample.await(Sample.append(bed.store(), neighbour, 1, 10));
            Sample.await(Sample.append(bed.store(), Sample.KEY, 1, 10));
            assertThat(read).isNotDone();
        } finally {
            release.countDown();
        }
        assertThat(Sample.await(read)).isEqualTo("read");
    }

    @Test
    void aSessionThatGoesBeforeItIsReadIsNotThere() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        CountDownLatch reads = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Supplier<Optional<SessionRecord>> late = () -> {
            reads.countDown();
            await(release);
            return sessions().database().record(Sample.KEY);
        };
        CompletionStage<Optional<SessionRecord>> record = sessions().read(Sample.KEY, late, Optional.empty());
        try {
            reads.await();
            Sample.await(bed.store().delete(Sample.KEY));
        } finally {
            release.countDown();
        }
        assertThat(Sample.await(record)).isEmpty();
    }

    /** The first append waits for the index, which a read has brought into memory when the second one comes. */
    @Test
    void anAppendDoesNotOvertakeOneThatWaitsForTheReader() throws Exception {
        SessionKey other = Sample.key(1);
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        Sample.await(Sample.create(bed.store(), other));
        bed.reopen();
        CountDownLatch release = new CountDownLatch(1);
        CountDownLatch reads = new CountDownLatch(1);
        CountDownLatch releaseLater = new CountDownLatch(1);
        CompletionStage<String> before = sessions().read(other, () -> after(release), "not there");
        Supplier<String> late = () -> {
            reads.countDown();
            return after(releaseLater);
        };
        CompletionStage<String> read = sessions().read(Sample.KEY, late, "not there");
        try {
            CompletionStage<Void> first = Sample.append(bed.store(), Sample.KEY, 1, 10);
            release.countDown();
            reads.await();
            CompletionStage<Void> second = Sample.append(bed.store(), Sample.KEY, 2, 10);
            assertThat(first).isNotDone();
            assertThat(second).isNotDone();
            releaseLater.countDown();
            Sample.await(first);
            Sample.await(second);
        } finally {
            release.countDown();
            releaseLater.countDown();
        }
        assertThat(Sample.await(before)).isEqualTo("read");
        assertThat(Sample.await(read)).isEqualTo("read");
        CompletionStage<Thread> later =
                sessions().with(Sample.KEY, found -> CompletableFuture.completedFuture(Thread.currentThread()));
        assertThat(Sample.await(later)).as("who takes the next step").isSameAs(Thread.currentThread());
    }

    private static String after(CountDownLatch latch) {
        await(latch);
        return "read";
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void theLockIsFreeWhileASessionIsReadThatIsNotInMemory() throws Exception {
        Sample.await(Sample.create(bed.store(), Sample.KEY));
        for (int offset = 1; offset <= 16; offset++) {
            Sample.await(Sample.append(bed.store(), Sample.KEY, offset, MIB));
        }
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        boolean free = false;
        while (!free) {
            assertThat(System.nanoTime()).as("the lock is free in time").isLessThan(deadline);
            bed.reopen();
            CompletableFuture<Optional<Look>> look =
                    bed.store().look(Sample.KEY).toCompletableFuture();
            while (!free && !look.isDone()) {
                SessionIndex index = sessions().inUse().get(Sample.KEY);
                free = index != null
                        && index.beingRead()
                        && isFree(lock(Sample.KEY))
                        && index.equals(sessions().inUse().get(Sample.KEY));
            }
            assertThat(Sample.await(look)).isPresent();
        }
    }

    private static boolean isFree(ReentrantLock lock) {
        boolean free = lock.tryLock();
        if (free) {
            lock.unlock();
        }
        return free;
    }

    /** The session is made while another thread is about to read it, and is deleted when that has read it. */
    @Test
    void aSessionThatCameAndWentWhileItWasReadIsGone(@TempDir Path folder) throws Exception {
        try (RocksDbStore store = RocksDbStore.builder(folder)
                .memory(1 << 20)
                .sweepInterval(Duration.ofHours(1))
                .open()) {
            DiskSessions sessions = store.sessions();
            ReentrantLock lock = sessions.database().lockOf(Sample.KEY);
            FutureTask<Boolean> found = new FutureTask<>(() -> sessions.loaded(Sample.KEY, Optional::isPresent));
            Thread reader = new Thread(found, "reader of a test");
            sessions.database().reading(() -> {
                reader.start();
                until("the place is kept", () -> sessions.inUse().containsKey(Sample.KEY));
                assertThat(Sample.create(store, Sample.KEY)).isCompleted();
                lock.lock();
                return lock;
            });
            try {
                until("the session is read", () -> lock.hasQueuedThread(reader));
                assertThat(store.delete(Sample.KEY)).isCompleted();
            } finally {
                lock.unlock();
            }
            assertThat(found.get()).isFalse();
            assertThat(sessions.inUse()).isEmpty();
        }
    }

    private static void until(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(deadline);
            LockSupport.parkNanos(Sample.PAUSE_NANOS);
        }
    }
}
