package dev.holdfast.rocksdb;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.DamagedBed;
import dev.holdfast.tck.LossyBed;
import dev.holdfast.tck.TornBed;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.rocksdb.RocksDBException;

/** A store in a folder of its own. A crash is a copy of the folder, taken while the store is open: what a dead process leaves. */
final class FolderBed implements TornBed, DamagedBed, LossyBed {
    private final Durability durability;
    private final Path home;
    private final List<SessionStore> abandoned = new ArrayList<>();
    private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");
    private int copies;
    private Path folder;
    private RocksDbStore store;

    FolderBed(Durability durability) {
        try {
            this.durability = durability;
            this.home = Files.createTempDirectory(base(), "holdfast-store");
            this.folder = home.resolve("first");
            this.store = open(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where an fsync costs nothing, if there is such a place: these tests open stores by the hundred. */
    private static Path base() {
        Path memory = Path.of("/dev/shm");
        return Files.isWritable(memory) ? memory : Path.of(System.getProperty("java.io.tmpdir"));
    }

    private RocksDbStore open(Path where) {
        return RocksDbStore.builder(where)
                .survives(durability)
                .clock(() -> now)
                .memory(1 << 20)
                .sweepInterval(Duration.ofMillis(50))
                .open();
    }

    @Override
    public RocksDbStore store() {
        return store;
    }

    Path folder() {
        return folder;
    }

    @Override
    public long millis() {
        return now.toEpochMilli();
    }

    @Override
    public void advance(Duration duration) {
        now = now.plus(duration);
    }

    @Override
    public void reopen() {
        store.close();
        store = open(folder);
    }

    @Override
    public void crash() {
        Path copy = copy();
        abandoned.add(store);
        folder = copy;
        store = open(folder);
    }

    private Path copy() {
        Path copy = home.resolve("copy-" + ++copies);
        copy(folder, copy);
        return copy;
    }

    static void copy(Path from, Path to) {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(from.relativize(file).toString()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path log(Path folder) {
        try (Stream<Path> files = Files.list(folder.resolve("db"))) {
            return files.filter(file -> file.toString().endsWith(".log"))
                    .max(Comparator.naturalOrder())
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public long logBytes() {
        return log(folder).toFile().length();
    }

    /** Something done to a file. */
    private interface Damage {
        void to(RandomAccessFile file) throws IOException;
    }

    private SessionStore openDamaged(Damage damage) {
        Path copy = copy();
        try (RandomAccessFile file = new RandomAccessFile(log(copy).toFile(), "rw")) {
            damage.to(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return open(copy);
    }

    /** Opens once more what was opened damaged. */
    SessionStore openDamagedAgain() {
        return open(home.resolve("copy-" + copies));
    }

    @Override
    public SessionStore openCut(long bytes) {
        return openDamaged(file -> file.setLength(bytes));
    }

    @Override
    public SessionStore openFlipped(long at) {
        return openDamaged(file -> {
            file.seek(at);
            int was = file.read();
            file.seek(at);
            file.write(~was);
        });
    }

    @Override
    public void spoilRecord(SessionKey key) {
        spoil(Keys.header(key));
    }

    @Override
    public void spoilEvent(SessionKey key, long offset) {
        spoil(Keys.event(key, StreamId.LISTENING, offset));
    }

    /** Too short to be anything. */
    private void spoil(byte[] at) {
        Database.Batch changes = new Database.Batch();
        changes.put(at, new byte[3]);
        write(changes);
        reopen();
    }

    @Override
    public void loseEvents(SessionKey key) {
        Database.Batch changes = new Database.Batch();
        try {
            store.sessions().database().current().scan(Keys.header(key), Keys.end(key), (at, value) -> {
                if (Keys.what(at) == Keys.EVENT) {
                    changes.delete(at);
                }
                return true;
            });
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
        write(changes);
        reopen();
    }

    /** Writes what the store does not know of. */
    void write(Database.Batch changes) {
        try {
            store.sessions().database().current().write(changes);
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        store.close();
        abandoned.forEach(SessionStore::close);
        remove(home);
    }

    static void remove(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
