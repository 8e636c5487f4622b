package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.function.BiPredicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionStyle;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Status;
import org.rocksdb.WALRecoveryMode;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * An open RocksDB: the one class that knows its options and frees what it holds. It must not be used during or after its close;
 * {@link ReopeningDatabase} sees to that.
 */
final class Database implements AutoCloseable {
    private static final int FILTER_BITS = 10;
    private static final int OPEN_FILES = 256;
    private static final int WRITE_BUFFERS = 3;
    private static final long INFO_LOG_BYTES = 1 << 20;
    private static final int INFO_LOGS = 2;
    private static final long MANIFEST_BYTES = 4 << 20;
    /** An environment variable: where RocksDB looks for its library, or puts it and leaves it there. */
    private static final String LIBRARY_FOLDER = "ROCKSDB_SHAREDLIB_DIR";

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private final Watermark acknowledged;
    private final WriteOptions noSlowdown;
    private final WriteOptions blocking;
    private final RocksDB db;

    /** How the write-ahead log of the last opening is read. */
    enum Recovery {
        /** As far as it is whole; refused if a file of it is missing. */
        STRICT,
        /** As far as it goes. */
        LENIENT,
        /** As far as it goes; tables that are damaged are opened too, but not compacted. */
        SALVAGE
    }

    /** The writes of one step, in order; all of them are done, or none. They stay on the heap until a thread writes them. */
    static final class Batch {
        private static final int COUNT_AT = Long.BYTES;
        private static final int HEADER = COUNT_AT + Integer.BYTES;
        private static final byte DELETION = 0;
        private static final byte PUT = 1;
        private static final byte RANGE_DELETION = 15;

        private final List<Write> writes = new ArrayList<>();
        private int bytes = HEADER;

        /**
         * One write.
         *
         * @param value that of a put, the end of a range; null of a deletion
         */
        private record Write(byte kind, byte[] key, byte @Nullable [] value) {}

        void put(byte[] key, byte[] value) {
            add(new Write(PUT, key, value));
        }

        void delete(byte[] key) {
            add(new Write(DELETION, key, null));
        }

        /** Deletes from a key on, up to before another. */
        void deleteRange(byte[] from, byte[] to) {
            add(new Write(RANGE_DELETION, from, to));
        }

        private void add(Write write) {
            writes.add(write);
            bytes += 1 + packedLength(write.key) + (write.value == null ? 0 : packedLength(write.value));
        }

        /** Adds all writes of another step. */
        void add(Batch other) {
            writes.addAll(other.writes);
            bytes += other.bytes - HEADER;
        }

        boolean isEmpty() {
            return writes.isEmpty();
        }

        int bytes() {
            return bytes;
        }

        /**
         * One array of bytes in the format of RocksDB's log, so that one call hands all over:
         *
         * <pre>
         *   sequence (8), which RocksDB sets, count (4, little-endian), then of each write its kind (1), its key, and
         *   but for a deletion its value or the end of its range, each behind its length in seven bits a byte
         * </pre>
         */
        private WriteBatch packed() {
            ByteBuffer packed = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
            packed.putInt(COUNT_AT, writes.size()).position(HEADER);
            for (Write write : writes) {
                packed.put(write.kind);
                pack(write.key, packed);
                if (write.value != null) {
                    pack(write.value, packed);
                }
            }
            return new WriteBatch(packed.array());
        }

        private static void pack(byte[] part, ByteBuffer into) {
            int left = part.length;
            for (; left > 0x7f; left >>>= 7) {
                into.put((byte) (left | 0x80));
            }
            into.put((byte) left).put(part);
        }

        private static int packedLength(byte[] part) {
            int length = 1 + part.length;
            for (int left = part.length; left > 0x7f; left >>>= 7) {
                length++;
            }
            return length;
        }
    }

    Database(Path folder, long memoryBytes, boolean sync, Recovery recovery, Watermark acknowledged)
            throws RocksDBException {
        this.acknowledged = acknowledged;
        noSlowdown = own(new WriteOptions()).setNoSlowdown(true);
        blocking = own(new WriteOptions()).setSync(sync);
        try {
            db = own(RocksDB.open(options(memoryBytes, recovery), folder.toString()));
        } catch (RocksDBException e) {
            close();
            throw e;
        }
    }

    /**
     * Loads RocksDB's native library, unless it is loaded. It is unpacked into a file that is removed as soon as it is loaded: left to
     * itself, RocksDB leaves a file of 17 MB behind wherever a process is killed.
     */
    static synchronized void loadLibrary() throws IOException {
        if (System.getenv(LIBRARY_FOLDER) == null) {
            Path folder = Files.createTempDirectory("holdfast-rocksdb");
            try {
                NativeLibraryLoader.getInstance().loadLibrary(folder.toString());
            } finally {
                removeQuietly(folder);
            }
        }
        RocksDB.loadLibrary();
    }

    /** Removes a folder with all that is in it, if it is there. */
    static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private static void removeQuietly(Path folder) {
        try {
            remove(folder);
        } catch (IOException e) {
            // where a loaded library cannot be removed, RocksDB does it when the process ends in order
        }
    }

    private <T extends AutoCloseable> T own(T what) {
        owned.push(what);
        return what;
    }

    private Options options(long memoryBytes, Recovery recovery) {
        BlockBasedTableConfig tables = new BlockBasedTableConfig()
                .setBlockCache(own(new LRUCache(memoryBytes / 2)))
                .setFilterPolicy(own(new BloomFilter(FILTER_BITS)));
        return own(new Options(own(walOptions(recovery)), own(new ColumnFamilyOptions())))
                .setCreateIfMissing(recovery != Recovery.SALVAGE)
                .setParanoidChecks(recovery != Recovery.SALVAGE)
                .setDisableAutoCompactions(recovery == Recovery.SALVAGE)
                .setTableFormatConfig(tables)
                // at most three buffers take half of the memory: one is filled while another is flushed
                .setWriteBufferSize(memoryBytes / (2 * WRITE_BUFFERS))
                .setMaxWriteBufferNumber(WRITE_BUFFERS)
                // one thread at a time writes; it need not wake others to help it
                .setAllowConcurrentMemtableWrite(false)
                // the data is small and changes much: universal compaction may need twice its space for a while
                .setCompactionStyle(CompactionStyle.LEVEL)
                .setLevelCompactionDynamicLevelBytes(true)
                .setCompressionType(CompressionType.LZ4_COMPRESSION)
                // a torn record ends the log, whatever tore it; the watermark tells whether it was the last one
                .setWalRecoveryMode(WALRecoveryMode.PointInTimeRecovery)
                .setMaxOpenFiles(OPEN_FILES)
                // files take what they hold, not what they may hold one day
                .setAllowFAllocate(false)
                .setMaxManifestFileSize(MANIFEST_BYTES)
                .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
                .setMaxLogFileSize(INFO_LOG_BYTES)
                .setKeepLogFileNum(INFO_LOGS)
                .setStatsDumpPeriodSec(0)
                .setStatsPersistPeriodSec(0);
    }

    /** With this option each file of the log names the one before, so that a missing one is noticed. Java has no setter for it. */
    private static DBOptions walOptions(Recovery recovery) {
        Properties properties = new Properties();
        properties.setProperty("track_and_verify_wals", String.valueOf(recovery == Recovery.STRICT));
        return Objects.requireNonNull(DBOptions.getDBOptionsFromProps(properties), "RocksDB does not track its logs");
    }

    /** Writes without waiting for the disk; false if RocksDB would have stalled, and nothing was written. */
    boolean tryWrite(Batch changes) throws RocksDBException {
        try {
            write(noSlowdown, changes);
            return true;
        } catch (RocksDBException e) {
            if (hasCode(e, Status.Code.Incomplete)) {
                return false;
            }
            throw e;
        }
    }

    /** Writes, and waits as long as it takes. */
    void write(Batch changes) throws RocksDBException {
        write(blocking, changes);
    }

    private void write(WriteOptions how, Batch changes) throws RocksDBException {
        try (WriteBatch batch = changes.packed()) {
            db.write(how, batch);
            acknowledged.set(db.getLatestSequenceNumber());
        }
    }

    /** The number of the last write. */
    long sequence() {
        return db.getLatestSequenceNumber();
    }

    Optional<byte[]> get(byte[] key) throws RocksDBException {
        return Optional.ofNullable(db.get(key));
    }

    /** False if there is no such key, as far as memory tells; does not look at the disk. */
    boolean mayHave(byte[] key) {
        return db.keyMayExist(key, null);
    }

    /** Visits keys and values of one moment in order, from one key up to before another, until the visitor returns false. */
    void scan(byte[] from, byte[] to, BiPredicate<byte[], byte[]> visitor) throws RocksDBException {
        try (Slice end = new Slice(to);
                ReadOptions options = new ReadOptions().setIterateUpperBound(end);
                RocksIterator at = db.newIterator(options)) {
            at.seek(from);
            while (at.isValid() && visitor.test(at.key(), at.value())) {
                at.next();
            }
            at.status();
        }
    }

    /** Forces everything that was written to the disk. */
    void sync() throws RocksDBException {
        db.syncWal();
    }

    /** For tests: lets flushes and compactions wait. */
    void pause() throws RocksDBException {
        db.pauseBackgroundWork();
    }

    void unpause() throws RocksDBException {
        db.continueBackgroundWork();
    }

    /** Releases everything, the last first. */
    @Override
    public void close() {
        while (!owned.isEmpty()) {
            try {
                owned.pop().close();
            } catch (Exception e) {
                throw new IllegalStateException("RocksDB does not close", e);
            }
        }
    }

    /** Whether the disk returns something else than was written, so that it can never be read. */
    static boolean isCorrupt(RocksDBException e) {
        return hasCode(e, Status.Code.Corruption);
    }

    private static boolean hasCode(RocksDBException e, Status.Code code) {
        Status status = e.getStatus();
        return status != null && status.getCode() == code;
    }

    /** The first key behind this one and all keys that begin with it. */
    static byte[] after(byte[] prefix) {
        byte[] next = Arrays.copyOf(prefix, prefix.length + 1);
        next[prefix.length] = (byte) 0xff;
        return next;
    }
}
