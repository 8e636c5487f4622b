package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** Measures appends of 300 bytes a second, and how long a store with 100,000 sessions takes to open. Not a test. */
final class Measure {
    private static final long NANOS = 3_000_000_000L;
    private static final int MANY = 100_000;

    private Measure() {}

    /** The folder to measure in. */
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        for (Durability durability : List.of(Durability.PROCESS_DEATH, Durability.POWER_LOSS)) {
            for (int appenders : List.of(1, 64, 1, 64)) {
                Path folder = Files.createTempDirectory(home, "measure");
                try (RocksDbStore store =
                        RocksDbStore.builder(folder).survives(durability).open()) {
                    System.out.printf("%s %d: %,d/s%n", durability, appenders, rate(store, appenders));
                }
                FolderBed.remove(folder);
            }
        }
        reopen(Files.createTempDirectory(home, "measure"));
    }

    /** Each session appends its next when the last is told. */
    private static long rate(RocksDbStore store, int appenders) throws Exception {
        AtomicLong total = new AtomicLong();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < appenders; i++) {
            int which = i;
            Sample.await(Sample.create(store, Sample.key(which)));
            CompletableFuture<Void> end = new CompletableFuture<>();
            ends.add(end);
            new Thread(() -> {
                        try {
                            for (long offset = 1; System.nanoTime() - start < NANOS; offset++) {
                                Sample.await(Sample.append(store, Sample.key(which), offset, 300));
                                total.incrementAndGet();
                            }
                            end.complete(null);
                        } catch (Exception e) {
                            end.completeExceptionally(e);
                        }
                    })
                    .start();
        }
        for (CompletableFuture<Void> end : ends) {
            Sample.await(end);
        }
        return total.get() * 1_000_000_000L / (System.nanoTime() - start);
    }

    private static void reopen(Path folder) throws Exception {
        try (RocksDbStore store = RocksDbStore.builder(folder).open()) {
            for (int i = 0; i < MANY; i++) {
                Sample.await(Sample.create(store, Sample.key(i)));
                for (int offset = 1; offset <= 5; offset++) {
                    Sample.await(Sample.append(store, Sample.key(i), offset, 300));
                }
            }
            System.out.printf("%,d sessions: %,d bytes%n", MANY, store.usage().bytes());
            Path crashed = folder.resolveSibling(folder.getFileName() + "-crashed");
            FolderBed.copy(folder, crashed);
            open(crashed, "after a crash");
        }
        open(folder, "after a close");
    }

    private static void open(Path folder, String when) throws Exception {
        long start = System.nanoTime();
        try (RocksDbStore store = RocksDbStore.builder(folder).open()) {
            long opened = System.nanoTime();
            boolean there = Sample.await(store.claim(Sample.key(MANY / 2), 1)).isPresent();
            System.out.printf(
                    "open %s: %d ms, first claim %.1f ms, %b%n",
                    when, (opened - start) / 1_000_000, (System.nanoTime() - opened) / 1e6, there);
        }
        FolderBed.remove(folder);
    }
}
