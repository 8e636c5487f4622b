package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The indexes of the sessions in use, and the three ways to the disk.
 *
 * <pre>
 *   at once      a write on the caller's thread, if no fsync is wanted, nobody else writes and RocksDB does not stall
 *   writer       every other write; later writes of the same session follow it there until its stage has completed
 *   reader       everything that reads: claims, reads, and the first use of a session that is not in memory; later steps of the
 *                same session follow it there
 * </pre>
 *
 * A session's lock is held while its epoch is checked, the changes are made and they are handed to RocksDB or to the queue. It is
 * not held while an fsync, a stall or a read is waited for. Stages that were not complete at once complete on threads of their own, so
 * that the writer goes on writing; those of one session do so on one thread, in order.
 */
final class DiskSessions {
    private static final Logger logger = LoggerFactory.getLogger(DiskSessions.class);
    static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final int MOST_CALLBACK_THREADS = 4;
    private static final Duration LONGEST_CALLBACK = Duration.ofSeconds(10);
    private static final Duration LONGEST_READ = Duration.ofHours(1);
    private static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    private final Map<SessionKey, SessionIndex> inUse = new ConcurrentHashMap<>();
    private final boolean sync;
    private final InstantSource clock;
    private final ReopeningDatabase database;
    private final GroupCommit writer;
    private final ExecutorService writerThread = Executors.newSingleThreadExecutor(daemons("holdfast-store-writer"));
    private final ScheduledThreadPoolExecutor reader =
            new ScheduledThreadPoolExecutor(1, daemons("holdfast-store-reader"));
    /** How many steps of a session wait for the reader; most sessions have none. */
    private final Map<SessionKey, Integer> waiting = new ConcurrentHashMap<>();

    private final List<ExecutorService> callbacks = new ArrayList<>();
    private boolean closed;

    /**
     * @param sync whether a change is done when it is on the disk
     * @param clock the time by which sessions expire
     * @param memory bytes that RocksDB may take
     */
    DiskSessions(StoreFolder folder, boolean sync, InstantSource clock, long memory) {
        this.sync = sync;
        this.clock = clock;
        database = new ReopeningDatabase(folder, memory, sync, this::forgetAll);
        writer = new GroupCommit(database, this::decided);
        int threads = Math.min(MOST_CALLBACK_THREADS, Runtime.getRuntime().availableProcessors() / 2);
        for (int i = 0; i < Math.max(1, threads); i++) {
            ThreadPoolExecutor thread = new ThreadPoolExecutor(
                    1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), daemons("holdfast-store-done-" + i));
            // the threads start now: a stage must complete also when the system has no more threads to give
            thread.prestartCoreThread();
            callbacks.add(thread);
        }
    }

    private static ThreadFactory daemons(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Starts the writer's thread; call it once. */
    void start() {
        writerThread.execute(writer);
    }

    long millis() {
        return clock.millis();
    }

    ReopeningDatabase database() {
        return database;
    }

    /** Every index in memory; an entry is put and removed under the lock of its session. */
    Map<SessionKey, SessionIndex> inUse() {
        return inUse;
    }

    private void forgetAll() {
        inUse.values().forEach(SessionIndex::breakUp);
        inUse.clear();
    }

    /** What is done under the lock of a session, with its index if there is one. */
    interface Step<T> extends Function<Optional<SessionIndex>, CompletionStage<T>> {}

    /** Takes a step with a live session: at once if its index is in memory and no step waits for it, else on the reader's thread. */
    <T> CompletionStage<T> with(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(database.closed());
            }
            Optional<SessionIndex> used = used(key);
            if (used.isPresent() && !waiting.containsKey(key)) {
                return step.apply(used.filter(this::isLive));
            }
        } finally {
            lock.unlock();
        }
        return onReader(key, step);
    }

    /** Takes a step with a session that most likely does not exist; the step also gets one that was deleted or has expired. */
    <T> CompletionStage<T> withNew(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            if (closed) {
                return CompletableFuture.failedFuture(database.closed());
            }
            Optional<SessionIndex> used = used(key);
            if (!waiting.containsKey(key) && (used.isPresent() || !database.mayHave(key))) {
                return step.apply(used);
            }
        } catch (RocksDbStoreException e) {
            return CompletableFuture.failedFuture(e);
        } finally {
            lock.unlock();
        }
        return onReader(key, live -> step.apply(used(key)));
    }

    /** Takes a step at once without reading the disk; the step gets the index that is in memory, whatever its state. */
    <T> CompletionStage<T> unread(SessionKey key, Step<T> step) {
        Lock lock = database.lockOf(key);
        lock.lock();
        try {
            return closed ? CompletableFuture.failedFuture(database.closed()) : step.apply(used(key));
        } finally {
            lock.unlock();
        }
    }

    /** Takes a step with a live session on the reader's thread; the stage completes on another thread. */
    <T> CompletionStage<T> onReader(SessionKey key, Step<T> step) {
        waiting.merge(key, 1, Integer::sum);
        return queue(key, () -> {
            try {
                return loaded(key, index -> {
                    // no later stage of this session completes before this one
                    index.ifPresent(SessionIndex::depart);
                    return new Taken<>(index, taken(index, step));
                });
            } finally {
                waiting.computeIfPresent(key, (one, count) -> count == 1 ? null : count - 1);
            }
        });
    }

    private <T> CompletionStage<T> taken(Optional<SessionIndex> index, Step<T> step) {
        try {
            return step.apply(index.filter(this::isLive));
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Reads of a live session on the reader's thread, without its lock: what is appended or deleted while it reads may complete before.
     * The stage completes on another thread.
     */
    <T> CompletionStage<T> read(SessionKey key, Supplier<T> read, T otherwise) {
        return onReader(key, () -> {
            boolean live = loaded(key, index -> index.filter(this::isLive).isPresent());
            return CompletableFuture.completedFuture(live ? read.get() : otherwise);
        });
    }

    /** Takes a step on the reader's thread that needs neither index nor lock; the stage completes on another thread. */
    <T> CompletionStage<T> onReader(SessionKey key, Supplier<CompletionStage<T>> step) {
        return queue(key, () -> new Taken<>(Optional.empty(), step.get()));
    }

    /** What a step has begun, and the index that waits for its end. */
    private record Taken<T>(Optional<SessionIndex> index, CompletionStage<T> stage) {}

    private <T> CompletionStage<T> queue(SessionKey key, Supplier<Taken<T>> work) {
        CompletableFuture<T> stage = new CompletableFuture<>();
        try {
            reader.execute(() -> run(key, work, stage));
        } catch (RejectedExecutionException e) {
            stage.completeExceptionally(database.closed());
        }
        return stage;
    }

    private <T> void run(SessionKey key, Supplier<Taken<T>> work, CompletableFuture<T> stage) {
        try {
            Taken<T> taken = database.reading(work);
            taken.stage.whenComplete((value, failure) -> callback(key, () -> {
                complete(stage, value, failure);
                taken.index.ifPresent(this::arrived);
            }));
        } catch (Throwable e) {
            callback(key, () -> stage.completeExceptionally(e));
        }
    }

    private static <T> void complete(CompletableFuture<T> stage, @Nullable T value, @Nullable Throwable failure) {
        if (failure == null) {
            stage.complete(value);
        } else {
            stage.completeExceptionally(failure);
        }
    }

    private void callback(SessionKey session, Runnable completion) {
        try {
            callbacks
                    .get((int) Math.floorMod(session.b(), (long) callbacks.size()))
                    .execute(completion);
        } catch (RejectedExecutionException e) {
            // the store is closed; the stage has to complete all the same
            completion.run();
        }
    }

    /** Runs something on the reader's thread when its turn comes. */
    void soon(Runnable task) {
        reader.execute(task);
    }

    /** Runs something on the reader's thread again and again; it must not throw. */
    void every(Duration interval, Runnable task) {
        long nanos = interval.toNanos();
        Future<?> unused = reader.scheduleWithFixedDelay(task, nanos, nanos, TimeUnit.NANOSECONDS);
    }

    /** The index that is in memory, also of a session that was deleted or has expired; under the session's lock. */
    private Optional<SessionIndex> used(SessionKey key) {
        SessionIndex index = inUse.get(key);
        if (index == null || index.beingRead()) {
            return Optional.empty();
        }
        if (index.broken()) {
            inUse.remove(key, index);
            return Optional.empty();
        }
        index.use(System.nanoTime());
        return Optional.of(index);
    }

    /**
     * Does something under the lock of a session, with its index, live or not, which is read from the disk before if need be; on the
     * reader's thread. The lock is not held while the index is read, but an empty one keeps its place: if that is gone by then, the
     * session was changed meanwhile, and what was read is dropped.
     */
    <T> T loaded(SessionKey key, Function<Optional<SessionIndex>, T> action) {
        Lock lock = database.lockOf(key);
        SessionIndex place = SessionIndex.beingRead(key);
        lock.lock();
        try {
            boolean undisturbed = false;
            while (!undisturbed && used(key).isEmpty()) {
                inUse.put(key, place);
                Optional<SessionIndex> read = Optional.empty();
                lock.unlock();
                try {
                    read = database.index(key);
                } finally {
                    lock.lock();
                    undisturbed = inUse.remove(key, place);
                }
                if (undisturbed) {
                    read.ifPresent(this::add);
                }
            }
            return action.apply(used(key));
        } finally {
            lock.unlock();
        }
    }

    /** Keeps the index of a session; under the session's lock. */
    void add(SessionIndex index) {
        index.use(System.nanoTime());
        inUse.put(index.key(), index);
    }

    boolean isLive(SessionIndex index) {
        return !index.gone() && !index.expired(millis());
    }

    /** Writes the changes of a step; under the session's lock. */
    CompletionStage<Void> commit(SessionIndex index, Database.Batch changes) {
        if (database.trouble().isPresent()) {
            return refuse(index);
        }
        try {
            boolean wait = sync || index.waits();
            if (!wait && writer.atOnce(changes)) {
                forgetIfGone(index);
                return DONE;
            }
        } catch (RocksDBException e) {
            database.failed(e);
            return refuse(index);
        } catch (Error e) {
            // nothing was written, as where memory is short: only this session's index is ahead of the disk
            logger.error("a message of a session was not written", e);
            return refuse(index);
        }
        GroupCommit.Item item = new GroupCommit.Item(index, changes);
        index.depart();
        writer.add(item);
        return item.stage;
    }

    private CompletionStage<Void> refuse(SessionIndex index) {
        index.breakUp();
        inUse.remove(index.key(), index);
        return CompletableFuture.failedFuture(database.cannotWrite());
    }

    /** The writer has written an item, or has failed to. */
    private void decided(GroupCommit.Item item) {
        callback(item.index.key(), () -> {
            complete(item.stage, null, item.failure);
            arrived(item.index);
        });
    }

    /** A change or a step of this session has completed. */
    private void arrived(SessionIndex index) {
        Lock lock = database.lockOf(index.key());
        lock.lock();
        try {
            index.arrive();
            forgetIfGone(index);
        } finally {
            lock.unlock();
        }
    }

    private void forgetIfGone(SessionIndex index) {
        if (index.broken() || (index.gone() && !index.waits())) {
            inUse.remove(index.key(), index);
        }
    }

    /** Waits until every change is written and every stage has completed, then closes the database and its folder. */
    void close() {
        boolean[] first = new boolean[1];
        database.exclusively(() -> {
            first[0] = !closed;
            closed = true;
        });
        if (!first[0]) {
            return;
        }
        reader.shutdown();
        awaitEnd(reader, LONGEST_READ);
        writer.end();
        writerThread.shutdownNow();
        awaitEnd(writerThread, FOREVER);
        callbacks.forEach(ExecutorService::shutdown);
        for (ExecutorService thread : callbacks) {
            if (!awaitEnd(thread, LONGEST_CALLBACK)) {
                logger.warn("the session store closes while code that waited for it still runs: it must not block");
            }
        }
        database.close();
    }

    /** An interrupt does not end the waiting, or native memory would be used after it is freed. */
    private static boolean awaitEnd(ExecutorService thread, Duration longest) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return thread.awaitTermination(longest.toNanos(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
