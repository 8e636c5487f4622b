package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
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
 *   OWNER      whose sessions it keeps, if he has said so
 *   LOCK       locked while somebody writes
 *   db/        RocksDB's
 *   db.new/    what takes its place, where it is damaged; db.old/ for a moment then, too
 * </pre>
 */
final class Folder implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(Folder.class);
    /** The format that this version writes, and the newest that it reads. */
    static final int FORMAT = 1;

    private static final String FORMAT_FILE = "FORMAT";
    private static final String LOCK_FILE = "LOCK";
    private static final String DATABASE = "db";
    private static final String PREFACE = "holdfast session store, format ";
    private static final byte[] PROBE = new byte[1 << 18];
    /** What this process has open: to open and close a file once more would give up its lock on some systems. */
    private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();
    /** For the same reason, what was opened where a class loader beside this one had the lock already, for as long as this one lives. */
    private static final Queue<FileChannel> LEFT_OPEN = new ConcurrentLinkedQueue<>();

    private final Path path;
    private final Path real;
    private final FileChannel lockFile;
    private final Watermark watermark;
    private volatile Openings openings;

    private Folder(Path path, Path real, FileChannel lockFile, Watermark watermark, Openings openings) {
        this.path = path;
        this.real = real;
        this.lockFile = lockFile;
        this.watermark = watermark;
        this.openings = openings;
    }

    /**
     * Makes the folder if need be, locks it, and checks its format.
     *
     * @param sync whether what is acknowledged survives the machine's end
     * @param machine names the present life of the machine
     * @param entry whether whoever opens it may
     */
    static Folder open(Path path, boolean sync, String machine, Entry entry) {
        try {
            make(path);
            refuseForeign(path);
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

    /** What is asked before anything is changed in a folder. */
    interface Entry {
        void ask(Path folder) throws IOException;
    }

    private static Folder open(Path path, Path real, boolean sync, String machine, Entry entry) throws IOException {
        FileChannel lockFile =
                FileChannel.open(path.resolve(LOCK_FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (lockFile.tryLock() == null) {
                throw inUse(path);
            }
            checkFormat(path);
            entry.ask(path);
            Watermark watermark = Watermark.open(path);
            Openings openings =
                    Openings.next(path, sync, machine, watermark.last().isPresent());
            if (!openings.damage().isEmpty()) {
                logger.error("the session store in {} was damaged: {}", path, openings.damage());
            }
            return new Folder(path, real, lockFile, watermark, openings);
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

    /** Messages of sessions are nobody else's business. */
    private static void make(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            return;
        }
        if (path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            Files.createDirectories(
                    path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } else {
            Files.createDirectories(path);
        }
    }

    private static void refuseForeign(Path path) throws IOException {
        if (Files.exists(path.resolve(FORMAT_FILE))) {
            return;
        }
        List<String> ours = List.of(LOCK_FILE, FORMAT_FILE + ".new");
        try (Stream<Path> found = Files.list(path)) {
            if (found.anyMatch(file -> !ours.contains(file.getFileName().toString()))) {
                throw new RocksDbStoreException(path, "is not one: the folder has other files in it");
            }
        }
    }

    private static void checkFormat(Path path) throws IOException {
        Path file = path.resolve(FORMAT_FILE);
        String text;
        try {
            text = Files.readString(file, UTF_8).strip();
        } catch (NoSuchFileException fresh) {
            Path draft = path.resolve(FORMAT_FILE + ".new");
            Files.writeString(
                    draft,
                    PREFACE + FORMAT + "\n",
                    UTF_8,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DSYNC);
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
            return;
        }
        int format = text.startsWith(PREFACE) ? number(text.substring(PREFACE.length())) : 0;
        if (format < 1) {
            throw new RocksDbStoreException(path, "has a FORMAT file that is not one of ours: " + text);
        }
        if (format > FORMAT) {
            throw new RocksDbStoreException(
                    path, "has format " + format + ", and this version reads up to format " + FORMAT);
        }
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    Path path() {
        return path;
    }

    Openings openings() {
        return openings;
    }

    Watermark watermark() {
        return watermark;
    }

    /** Something that was acknowledged may be lost, and sessions shall learn of it. */
    void damaged(String what) {
        try {
            openings = openings.withDamage(what);
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "is damaged, and that cannot be written down", e);
        }
    }

    Path database() {
        return path.resolve(DATABASE);
    }

    /** Where the database is made anew. */
    Path draft() {
        return path.resolve(DATABASE + ".new");
    }

    /** Makes room for a draft. */
    void beginDraft() {
        changing(() -> remove(draft()));
    }

    /** Puts the draft, which is whole, into the place of the database; whoever dies here finishes it at the next opening. */
    void useDraft() {
        changing(() -> {
            Path old = path.resolve(DATABASE + ".old");
            remove(old);
            Files.move(database(), old, StandardCopyOption.ATOMIC_MOVE);
        });
        finishDraft();
    }

    /** Goes on where a process has died that replaced the database. */
    void finishDraft() {
        changing(() -> {
            if (!Files.exists(database()) && Files.exists(draft())) {
                Files.move(draft(), database(), StandardCopyOption.ATOMIC_MOVE);
            }
            remove(path.resolve(DATABASE + ".old"));
            remove(draft());
        });
    }

    private interface Change {
        void run() throws IOException;
    }

    private void changing(Change change) {
        try {
            change.run();
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "cannot be changed", e);
        }
    }

    private static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Whether it can be written, and has room to open the database: what stands in its log is then written into tables. */
    boolean writable() {
        Path probe = path.resolve(FORMAT_FILE + ".new");
        try {
            Files.write(probe, PROBE, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.DSYNC);
            return Files.getFileStore(path).getUsableSpace() >= bytes(database(), ".log");
        } catch (IOException e) {
            return false;
        } finally {
            deleteQuietly(probe);
        }
    }

    /** How many bytes the folder holds now. */
    long bytes() {
        return bytes(path, "") + bytes(database(), "");
    }

    private static long bytes(Path folder, String ending) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(Path::toFile)
                    .filter(file -> file.isFile() && file.getName().endsWith(ending))
                    .mapToLong(File::length)
                    .sum();
        } catch (IOException e) {
            // what cannot be listed now is not counted now
            return 0;
        }
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
            openings.closed();
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
