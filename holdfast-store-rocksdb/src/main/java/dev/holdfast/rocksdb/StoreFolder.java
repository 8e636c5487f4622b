package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder of a store, locked against a second writer for as long as it is open. The lock is the operating system's: it goes
 * with the process, however that ends. No symbolic link is followed to one of these files.
 *
 * <pre>
 *   FORMAT     the number of the format
 *   OPENINGS   how often it was opened, how it ended, and what was damaged
 *   WATERMARK  how far its log was acknowledged
 *   OWNER      the owner of its sessions, if one was given
 *   LOCK       locked while somebody writes
 *   db/        RocksDB's
 *   db.new/    what takes its place after damage; for a moment there is db.old/ too
 * </pre>
 */
final class StoreFolder implements AutoCloseable {
    private static final Logger logger = LoggerFactory.getLogger(StoreFolder.class);

    /** The format that this version writes, and the newest that it reads. */
    private static final int FORMAT = 1;

    private static final String FORMAT_FILE = "FORMAT";
    private static final String FORMAT_PREFACE = "holdfast session store, format ";
    private static final String OWNER_FILE = "OWNER";
    private static final String LOCK_FILE = "LOCK";
    private static final byte[] PROBE = new byte[1 << 18];
    /** What this process has open: on some systems, opening and closing a file once more would give up its lock. */
    private static final Set<Path> OPEN = ConcurrentHashMap.newKeySet();
    /** Files that stay open until the process ends, for the same reason: this class in another class loader held the lock. */
    private static final Queue<FileChannel> LEFT_OPEN = new ConcurrentLinkedQueue<>();

    private final Path path;
    private final Path real;
    private final FileChannel lockFile;
    /** Tells the lock file from any other that may come to its place. */
    private final Optional<Object> lockKey;

    private final Watermark watermark;
    private volatile OpeningHistory history;
    private volatile boolean gone;

    /**
     * The owner of the sessions in a folder.
     *
     * @param name for people, on one line
     * @param fingerprint of everything that identifies the owner; may be shown to anybody who reads the folder
     * @param takesOver whether a folder of another owner becomes this one's
     */
    record Owner(String name, String fingerprint, boolean takesOver) {
        /** An owner that is identified by these words, which may hold secrets. */
        static Owner of(String name, List<String> words) {
            try {
                MessageDigest digest = MessageDigest.getInstance("SHA-256");
                for (String word : words) {
                    digest.update(word.getBytes(UTF_8));
                    digest.update((byte) 0);
                }
                String fingerprint = HexFormat.of().formatHex(digest.digest());
                return new Owner(name.replaceAll("\\p{Cntrl}", "?"), fingerprint, false);
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java has SHA-256", e);
            }
        }

        Owner takingOver() {
            return new Owner(name, fingerprint, true);
        }

        /** Makes the folder this owner's; refuses that of another one, unless it is taken over. */
        private void enter(Path folder) throws IOException {
            Path file = folder.resolve(OWNER_FILE);
            List<String> lines = read(file);
            if (lines.contains(fingerprint)) {
                return;
            }
            if (!lines.isEmpty() && !takesOver) {
                throw RocksDbStoreException.ofAnother(folder, lines.get(0), name);
            }
            replace(file, List.of(name, fingerprint));
        }

        /** No lines if the folder has no owner; a damaged file counts as another owner. */
        private static List<String> read(Path file) throws IOException {
            try {
                List<String> lines =
                        new String(Files.readAllBytes(file), UTF_8).lines().toList();
                return lines.size() == 2
                        ? lines
                        : List.of("somebody, whose name in the file " + OWNER_FILE + " is damaged");
            } catch (NoSuchFileException e) {
                return List.of();
            }
        }
    }

    private StoreFolder(Path path, Path real, FileChannel lockFile, Watermark watermark, OpeningHistory history)
            throws IOException {
        this.path = path;
        this.real = real;
        this.lockFile = lockFile;
        this.lockKey = keyOf(path.resolve(LOCK_FILE));
        this.watermark = watermark;
        this.history = history;
    }

    /**
     * Makes the folder if need be, locks it, and checks its format and its owner. Nothing in the folder of another owner is changed.
     *
     * @param sync whether what is acknowledged survives the machine's end
     * @param machine the id of the machine's present boot
     */
    static StoreFolder open(Path path, boolean sync, String machine, Optional<Owner> owner) {
        try {
            make(path);
            refuseForeign(path);
            Path real = path.toRealPath();
            if (!OPEN.add(real)) {
                throw inUse(path);
            }
            try {
                return open(path, real, sync, machine, owner);
            } catch (IOException | RuntimeException e) {
                OPEN.remove(real);
                throw e;
            }
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "cannot be opened for writing", e);
        }
    }

    /** Only its owner may read a new folder: it holds the messages of sessions. */
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

    private static StoreFolder open(Path path, Path real, boolean sync, String machine, Optional<Owner> owner)
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
            checkFormat(path);
            if (owner.isPresent()) {
                owner.get().enter(path);
            }
            Watermark watermark = Watermark.open(path);
            OpeningHistory history =
                    OpeningHistory.next(path, sync, machine, watermark.last().isPresent());
            if (!history.damage().isEmpty()) {
                logger.error("the session store in {} was damaged: {}", path, history.damage());
            }
            return new StoreFolder(path, real, lockFile, watermark, history);
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

    /** Refuses a newer format; a folder without one gets the present one. */
    private static void checkFormat(Path path) throws IOException {
        Path file = path.resolve(FORMAT_FILE);
        String text;
        try {
            text = Files.readString(file, UTF_8).strip();
        } catch (NoSuchFileException fresh) {
            replace(file, List.of(FORMAT_PREFACE + FORMAT));
            return;
        }
        String number = text.startsWith(FORMAT_PREFACE) ? text.substring(FORMAT_PREFACE.length()) : "";
        if (!number.matches("[1-9]\\d{0,8}")) {
            throw new RocksDbStoreException(path, "has a FORMAT file that is not one of ours: " + text);
        }
        if (Integer.parseInt(number) > FORMAT) {
            throw new RocksDbStoreException(
                    path, "has format " + number + ", and this version reads up to format " + FORMAT);
        }
    }

    /** Replaces a small file as a whole, and waits until the disk has it. */
    static void replace(Path file, List<String> lines) throws IOException {
        Path draft = file.resolveSibling(file.getFileName() + ".new");
        Files.write(
                draft,
                lines,
                UTF_8,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE,
                StandardOpenOption.DSYNC,
                LinkOption.NOFOLLOW_LINKS);
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    Path path() {
        return path;
    }

    /** RocksDB's own folder. */
    Path database() {
        return path.resolve("db");
    }

    OpeningHistory history() {
        return history;
    }

    Watermark watermark() {
        return watermark;
    }

    /** Something that was acknowledged may be lost, and sessions shall learn of it. */
    void damaged(String what) {
        try {
            history = history.withDamage(what);
        } catch (IOException e) {
            throw new RocksDbStoreException(path, "is damaged, and that cannot be written down", e);
        }
    }

    /** Whether it can be written, and has room to open the database, which writes its log into tables. */
    boolean writable() {
        Path probe = path.resolve(FORMAT_FILE + ".new");
        try {
            Files.write(
                    probe,
                    PROBE,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DSYNC,
                    LinkOption.NOFOLLOW_LINKS);
            return Files.getFileStore(path).getUsableSpace() >= bytes(database(), ".log");
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

    /** Empty if the system has no such keys. */
    private static Optional<Object> keyOf(Path file) throws IOException {
        return Optional.ofNullable(
                Files.readAttributes(file, BasicFileAttributes.class).fileKey());
    }

    /** How many bytes the folder takes now. */
    long bytes() {
        return bytes(path, "") + bytes(database(), "");
    }

    private static long bytes(Path directory, String ending) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(Path::toFile)
                    .filter(file -> file.isFile() && file.getName().endsWith(ending))
                    .mapToLong(file -> file.length())
                    .sum();
        } catch (IOException e) {
            // a folder that cannot be listed now is not counted now
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
            history.closed();
        } catch (IOException e) {
            logger.debug("the next opening of {} will take this end for one out of order", path, e);
        }
    }

    @Override
    public void close() {
        closeQuietly(lockFile);
        OPEN.remove(real);
    }
}
