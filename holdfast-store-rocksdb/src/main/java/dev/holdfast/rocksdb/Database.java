package dev.holdfast.rocksdb;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.function.BiPredicate;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionStyle;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
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
 * RocksDB, open: the one class that knows its options and frees what it holds. Nobody may use it during or after its close;
 * {@link RocksDbStore} sees to that.
 */
final class Database implements AutoCloseable {
    private static final int FILTER_BITS = 10;
    private static final int OPEN_FILES = 256;
    private static final int WRITE_BUFFERS = 3;
    private static final long INFO_LOG_BYTES = 1 << 20;
    private static final int INFO_LOGS = 2;
    private static final long MANIFEST_BYTES = 4 << 20;
    private static final int BATCH_OVERHEAD = 32;

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private final Watermark acknowledged;
    private final WriteOptions atOnce;
    private final WriteOptions patient;
    private final RocksDB db;

    /** How the log is read that the last opening has left. */
    enum Log {
        /** As far as it is whole; refused where nothing of it is there. */
        WHOLE,
        /** As far as it goes. */
        WHAT_THERE_IS,
        /** As far as it goes, and tables that are damaged are opened, but not compacted. */
        OF_A_WRECK
    }

    Database(Path folder, long memoryBytes, boolean sync, Log log, Watermark acknowledged) throws RocksDBException {
        this.acknowledged = acknowledged;
        atOnce = own(new WriteOptions()).setNoSlowdown(true);
        patient = own(new WriteOptions()).setSync(sync);
        try {
            db = own(RocksDB.open(options(memoryBytes, log), folder.toString()));
        } catch (RocksDBException e) {
            close();
            throw e;
        }
    }

    private <T extends AutoCloseable> T own(T what) {
        owned.push(what);
        return what;
    }

    private Options options(long memoryBytes, Log log) {
        BlockBasedTableConfig tables = new BlockBasedTableConfig()
                .setBlockCache(own(new LRUCache(memoryBytes / 2)))
                .setFilterPolicy(own(new BloomFilter(FILTER_BITS)));
        return own(new Options(own(trackingLogs(log)), own(new ColumnFamilyOptions())))
                .setCreateIfMissing(log != Log.OF_A_WRECK)
                .setParanoidChecks(log != Log.OF_A_WRECK)
                .setDisableAutoCompactions(log == Log.OF_A_WRECK)
                .setTableFormatConfig(tables)
                // three buffers at most: about half of the memory, so that one is filled while another is flushed
                .setWriteBufferSize(memoryBytes / (2 * WRITE_BUFFERS))
                .setMaxWriteBufferNumber(WRITE_BUFFERS)
                // one thread at a time writes, and wakes no others to help it
                .setAllowConcurrentMemtableWrite(false)
                // what is kept is small and changes much: levels hold little that is dead, where universal compaction
                // may need twice the space for a while
                .setCompactionStyle(CompactionStyle.LEVEL)
                .setLevelCompactionDynamicLevelBytes(true)
                .setCompressionType(CompressionType.LZ4_COMPRESSION)
                // a torn tail ends the log where it is torn, whatever tore it; whether that was the tail, the mark
                // tells
                .setWalRecoveryMode(WALRecoveryMode.PointInTimeRecovery)
                .setMaxOpenFiles(OPEN_FILES)
                // the folder takes what it holds, not what it may hold one day
                .setAllowFAllocate(false)
                .setMaxManifestFileSize(MANIFEST_BYTES)
                .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
                .setMaxLogFileSize(INFO_LOG_BYTES)
                .setKeepLogFileNum(INFO_LOGS)
                .setStatsDumpPeriodSec(0)
                .setStatsPersistPeriodSec(0);
    }

    /** Each file of the log names the one before, so that one which is missing ends the log. Java has no setter for that. */
    private static DBOptions trackingLogs(Log log) {
        Properties properties = new Properties();
        properties.setProperty("track_and_verify_wals", String.valueOf(log == Log.WHOLE));
        return Objects.requireNonNull(DBOptions.getDBOptionsFromProps(properties), "RocksDB does not track its logs");
    }

    /** Writes without waiting for the disk; false if RocksDB would have made it wait, and nothing was written. */
    boolean tryWrite(Changes changes) throws RocksDBException {
        try (WriteBatch batch = new WriteBatch(changes.bytes() + BATCH_OVERHEAD)) {
            changes.addTo(batch);
            db.write(atOnce, batch);
            acknowledged.set(sequence());
            return true;
        } catch (RocksDBException e) {
            Status status = e.getStatus();
            if (status != null && status.getCode() == Status.Code.Incomplete) {
                return false;
            }
            throw e;
        }
    }

    /** Writes all of them in one batch, and waits as long as it takes. */
    void write(Iterable<Changes> all, int bytes) throws RocksDBException {
        try (WriteBatch batch = new WriteBatch(bytes + BATCH_OVERHEAD)) {
            for (Changes changes : all) {
                changes.addTo(batch);
            }
            db.write(patient, batch);
            acknowledged.set(sequence());
        }
    }

    /** The number of the last write. */
    long sequence() {
        return db.getLatestSequenceNumber();
    }

    Optional<byte[]> get(byte[] key) throws RocksDBException {
        return Optional.ofNullable(db.get(key));
    }

    /** False where there is no such key, as far as memory tells without a look at the disk. */
    boolean mayHave(byte[] key) {
        return db.keyMayExist(key, null);
    }

    /** Goes through keys and values in order, as they are when it begins, from one key to before another, for as long as the visitor says so. */
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

    /** Whether what is on disk is not what was written, so that it will never be read. */
    static boolean isCorrupt(RocksDBException e) {
        Status status = e.getStatus();
        return status != null && status.getCode() == Status.Code.Corruption;
    }

    /** The key after this one and all that it begins. */
    static byte[] after(byte[] prefix) {
        byte[] next = Arrays.copyOf(prefix, prefix.length + 1);
        next[prefix.length] = (byte) 0xff;
        return next;
    }
}
