package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of a store, locked against a second writer for as long as it is open. The lock is the operating system's: it goes
 * with the process, however that ends.
 *
 * <pre>
 *   FORMAT     the number of the format
 *   OPENINGS   how often it was opened, how it ended, and what was damaged
 *   WATERMARK  how far its log was acknowledged
 *   OWNER      the owner of its sessions, if one was given
 *   LOCK       locked while somebody writes
 *   db/        RocksDB's
 *   db.new/    what takes its place, where it is damaged; db.old/ for a moment then, too
 * </pre>
 */
final class StoreFolder implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(StoreFolder.class);
    static final String LOCK_FILE = "LOCK";
    private static final byte[] PROBE = new byte[1 << 18];
    /** What this process has open: to open and close a file once more would give up its lock on some systems. */
    private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();
    /** Files that stay open until the process ends, for the same reason: the lock was held by this class in another class loader. */
    private static final Queue<FileChannel> LEFT_OPEN = new ConcurrentLinkedQueue<>();

    private final Path path;
    private final Path real;
    private final DatabaseFiles files;
    private final FileChannel lockFile;
    /** Tells the lock file from any other that may come to its place. */
    private final Optional<Object> lockKey;

    private final Watermark watermark;
    private volatile LossMark lossMark;
    private volatile boolean gone;

    private StoreFolder(Path path, Path real, FileChannel lockFile, Watermark watermark, LossMark lossMark)
            throws IOException {
        this.path = path;
        this.real = real;
        this.files = new DatabaseFiles(path);
        this.lockFile = lockFile;
        this.lockKey = keyOf(path.resolve(LOCK_FILE));
        this.watermark = watermark;
        this.lossMark = lossMark;
    }

    /**
     * Makes the folder if need be, locks it, and checks its format.
     *
     * @param sync whether what is acknowledged survives the machine's end
     * @param machine the id of the machine's present boot
     * @param entry refuses the folder if this store may not open it
     */
    static StoreFolder open(Path path, boolean sync, String machine, Entry entry) {
        try {
            StoreFormat.prepare(path);
            Path real = path.toRealPath();
            if (!OPEN.add(real)) {
                throw inUse(path);
            }
            try {
                return open(path, real, sync, machine, entry);
            } catch (IOException | RuntimeException e) {
                OPEN.remove(real);
                throw e;
            }
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "cannot be opened for writing", e);
        }
    }

    /** Asked before anything in a folder is changed. */
    interface Entry {
        void ask(Path folder) throws IOException;
    }

    private static StoreFolder open(Path path, Path real, boolean sync, String machine, Entry entry)
            throws IOException {
        FileChannel lockFile = FileChannel.open(
                path.resolve(LOCK_FILE),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
        try {
            if (lockFile.tryLock() == null) {
                throw inUse(path);
            }
            StoreFormat.check(path);
            entry.ask(path);
            Watermark watermark = Watermark.open(path);
            LossMark lossMark =
                    LossMark.next(path, sync, machine, watermark.last().isPresent());
            if (!lossMark.damage().isEmpty()) {
                logger.error("the session store in {} was damaged: {}", path, lossMark.damage());
            }
            return new StoreFolder(path, real, lockFile, watermark, lossMark);
        } catch (OverlappingFileLockException e) {
            LEFT_OPEN.add(lockFile);
            throw inUse(path);
        } catch (IOException | RuntimeException e) {
            closeQuietly(lockFile);
            throw e;
        }
    }

    private static RocksDbStoreException inUse(Path path) {
        return new RocksDbStoreException(path, "is in use: one process at a time may write to it");
    }

    Path path() {
        return path;
    }

    /** Where the database is. */
    DatabaseFiles files() {
        return files;
    }

    LossMark lossMark() {
        return lossMark;
    }

    Watermark watermark() {
        return watermark;
    }

    /** Something that was acknowledged may be lost, and sessions shall learn of it. */
    void damaged(String what) {
        try {
            lossMark = lossMark.withDamage(what);
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "is damaged, and that cannot be written down", e);
        }
    }

    /** Whether it can be written, and has room to open the database: what stands in its log is then written into tables. */
    boolean writable() {
        Path probe = StoreFormat.draft(path);
        try {
            Files.write(
                    probe,
                    PROBE,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DSYNC,
                    LinkOption.NOFOLLOW_LINKS);
            return Files.getFileStore(path).getUsableSpace() >= files.logBytes();
        } catch (IOException e) {
            return false;
        } finally {
            deleteQuietly(probe);
        }
    }

    /**
     * Whether the folder, or its lock file, was removed or replaced while it was open; once so, always so. What is in its place may be
     * another process's.
     */
    boolean gone() {
        gone = gone || !isThere();
        return gone;
    }

    private boolean isThere() {
        try {
            return keyOf(path.resolve(LOCK_FILE)).equals(lockKey);
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            // a disk that does not answer tells nothing of the folder
            return true;
        }
    }

    /** Empty where the system has no such keys. */
    private static Optional<Object> keyOf(Path file) throws IOException {
        return Optional.ofNullable(
                Files.readAttributes(file, BasicFileAttributes.class).fileKey());
    }

    /** How many bytes the folder holds now. */
    long bytes() {
        return DatabaseFiles.bytes(path, "") + files.bytes();
    }

    private static void deleteQuietly(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // the next probe overwrites it
        }
    }

    private static void closeQuietly(FileChannel file) {
        try {
            file.close();
        } catch (IOException e) {
            // nothing was written through it
        }
    }

    /** Everything is on disk, and nothing more will be written. */
    void endsInOrder() {
        try {
            watermark.force();
            lossMark.closed();
        } catch (IOException e) {
            logger.debug("the next opening of {} will take this end for one out of order", path, e);
        }
    }

    /** Gives the lock back. */
    @Override
    public void close() {
        closeQuietly(lockFile);
        OPEN.remove(real);
    }
}
