package dev.holdfast.rocksdb;

import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionStore.Durability;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Every knob of a {@link RocksDbStore}. */
public final class RocksDbStoreBuilder {
    private static final long MEBIBYTE = 1 << 20;
    private static final long MOST = 64L << 30;

    final Path folder;
    /** For tests: the id of the machine's present boot. */
    String machine = OpeningHistory.thisMachine();

    private Optional<StoreFolder.Owner> owner = Optional.empty();
    private boolean takesOver;
    Durability durability = Durability.PROCESS_DEATH;
    InstantSource clock = new ExpiryClock();
    Duration sweepInterval = Duration.ofMinutes(1);
    long memoryBytes = 64 * MEBIBYTE;

    RocksDbStoreBuilder(Path folder) {
        this.folder = folder.toAbsolutePath().normalize();
    }

    /**
     * What a completed append survives: {@link Durability#PROCESS_DEATH}, or {@link Durability#POWER_LOSS}, for which every
     * append waits for an fsync that it shares with those that come meanwhile. Default: process death.
     *
     * @throws IllegalArgumentException for {@link Durability#NOTHING}
     */
    public RocksDbStoreBuilder survives(Durability value) {
        if (value == Durability.NOTHING) {
            throw new IllegalArgumentException("survives must be PROCESS_DEATH or POWER_LOSS, got " + value);
        }
        durability = Objects.requireNonNull(value, "durability");
        return this;
    }

    /**
     * The owner of the sessions in the folder: the folder of another owner is refused, and one without an owner becomes this one's.
     * Default: no owner, and any folder is opened.
     *
     * @param name for messages, on one line; it is written into the folder
     * @param words everything that identifies the owner; only a fingerprint of it is written, for it may hold secrets
     */
    public RocksDbStoreBuilder belongsTo(String name, List<String> words) {
        owner = Optional.of(StoreFolder.Owner.of(name, words));
        return this;
    }

    /** Takes over the folder of another owner, with the sessions in it. Default: it is refused. */
    public RocksDbStoreBuilder takeOver() {
        takesOver = true;
        return this;
    }

    /** The clock that sessions expire by. Default: an {@link ExpiryClock} of the system's clocks. */
    public RocksDbStoreBuilder clock(InstantSource value) {
        clock = Objects.requireNonNull(value, "clock");
        return this;
    }

    /**
     * About how much memory RocksDB may take outside of the heap, 1 MiB to 64 GiB. Its log on disk, which a restart reads again,
     * grows to half as much. Default 64 MiB.
     */
    public RocksDbStoreBuilder memory(long bytes) {
        if (bytes < MEBIBYTE || bytes > MOST) {
            throw new IllegalArgumentException("memory must be 1 MiB to 64 GiB, got " + bytes + " bytes");
        }
        memoryBytes = bytes;
        return this;
    }

    /**
     * How often expired sessions are removed from the disk, 10 ms to 1 hour. They count as gone from the moment of their expiry.
     * Default 1 minute.
     */
    public RocksDbStoreBuilder sweepInterval(Duration value) {
        if (value.compareTo(Duration.ofMillis(10)) < 0 || value.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("sweepInterval must be 10 ms to 1 hour, got " + value);
        }
        sweepInterval = value;
        return this;
    }

    Optional<StoreFolder.Owner> owner() {
        return takesOver ? owner.map(StoreFolder.Owner::takingOver) : owner;
    }

    /**
     * Opens the store.
     *
     * @throws RocksDbStoreException where the folder cannot be written, is in use or another's, was written by a newer version, or is
     *     damaged beyond repair, or where RocksDB's native library cannot be loaded
     */
    public RocksDbStore open() {
        return new RocksDbStore(this);
    }
}
