package dev.holdfast.rocksdb;

import dev.holdfast.Call;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Opening.Awaiting;
import dev.holdfast.Opening.Opened;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory.Introduction;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A process, as far as its sessions go: an engine over a store in a folder, whose time is the test's. It never ends in order. */
final class EngineBed implements AutoCloseable {
    private static final Duration BETWEEN_SWEEPS = Duration.ofSeconds(20);

    final HoldingBackend backend;
    final SessionEngine engine;
    /** Everything that a listener heard of gaps and of backends. */
    final List<String> news = new CopyOnWriteArrayList<>();

    private final Path folder;
    private final String machine;
    private final Introduction introduction;
    private final Sweeps sweeps = new Sweeps();
    private final RocksDbStore store;
    private final AtomicLong nanos = new AtomicLong();
    private volatile Instant wall;

    EngineBed(Path folder, String machine, Instant start, Introduction introduction) {
        this.folder = folder;
        this.machine = machine;
        this.wall = start;
        this.introduction = introduction;
        this.backend = new HoldingBackend(introduction);
        RocksDbStoreBuilder builder =
                RocksDbStore.builder(folder).memory(1 << 20).clock(() -> wall);
        builder.machine = machine;
        this.store = builder.open();
        this.engine = SessionEngine.builder(backend, new Words())
                .store(store)
                .clock(nanos::get)
                .wallClock(() -> wall)
                .scheduler(sweeps)
                .parkAfter(Duration.ofDays(365))
                .random(new Random(folder.getFileName().hashCode()))
                .listener(new News())
                .build()
                .start();
    }

    /** A scheduler that leaves it to the test when to sweep. */
    private static final class Sweeps extends ScheduledThreadPoolExecutor {
        private volatile Runnable sweep = () -> {};

        private Sweeps() {
            super(1);
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long first, long delay, TimeUnit unit) {
            sweep = command;
            return schedule(() -> {}, 0, unit);
        }
    }

    private final class News implements SessionLifecycleListener {
        @Override
        public void onGap(String sessionId, String stream) {
            news.add("gap on " + stream);
        }

        @Override
        public void onBackendChanged(String sessionId) {
            news.add("backend changed");
        }
    }

    long nanos() {
        return nanos.get();
    }

    /** Lets time pass, and what it has ended be ended. */
    void pass(Duration duration) {
        Duration left = duration;
        do {
            // an engine that does not look for longer takes it for sleep
            Duration step = left.compareTo(BETWEEN_SWEEPS) < 0 ? left : BETWEEN_SWEEPS;
            wall = wall.plus(step);
            nanos.addAndGet(step.toNanos());
            sweeps.sweep.run();
            left = left.minus(step);
        } while (!left.isZero());
    }

    Session opened(String principal, InboundMessage initialize) throws Exception {
        return ((Opened) Sample.await(engine.open(initialize, principal, EngineFixture.LIFETIME))).session();
    }

    Session awaiting(String principal) throws Exception {
        return ((Awaiting) Sample.await(engine.open(principal, EngineFixture.LIFETIME))).session();
    }

    Finding find(String id, String principal) throws Exception {
        return Sample.await(engine.find(id, principal));
    }

    Session found(String id, String principal) throws Exception {
        return ((Found) find(id, principal)).session();
    }

    static Call post(Session session, InboundMessage... requests) throws Exception {
        return ((Call.Accepted) Sample.await(session.call(Arrays.asList(requests)))).call();
    }

    /** Posts requests that get a stream of their own, and returns their connection. */
    static Line call(Session session, InboundMessage... requests) throws Exception {
        Call call = post(session, requests);
        Line line = new Line(call.reader().orElseThrow());
        call.dispatch();
        return line;
    }

    /** What a dead process would leave now. */
    void copyTo(Path copy) {
        FolderBed.copy(folder, copy);
    }

    /** The process is killed, and another one takes its place, over a copy of the folder. */
    EngineBed die(Path copy) {
        return die(copy, machine);
    }

    /** The same on what may be another machine. */
    EngineBed die(Path copy, String next) {
        copyTo(copy);
        close();
        return new EngineBed(copy, next, wall, introduction);
    }

    @Override
    public void close() {
        sweeps.shutdownNow();
        store.close();
    }
}
