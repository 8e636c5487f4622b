package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/** The format of a store's folder: makes the folder if need be, and refuses one that this version cannot use. */
final class StoreFormat {
    /** The format that this version writes, and the newest that it reads. */
    static final int FORMAT = 1;

    private static final String FORMAT_FILE = "FORMAT";
    private static final String PREFACE = "holdfast session store, format ";

    private StoreFormat() {}

    /** Makes the folder if there is none; refuses one with other files in it. */
    static void prepare(Path path) throws IOException {
        make(path);
        refuseForeign(path);
    }

    /** A file of any content, which the next opening overwrites. */
    static Path draft(Path path) {
        return path.resolve(FORMAT_FILE + ".new");
    }

    /** Only its owner may read it: it holds the messages of sessions. */
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
        List<String> ours = List.of(StoreFolder.LOCK_FILE, FORMAT_FILE + ".new");
        try (Stream<Path> found = Files.list(path)) {
            if (found.anyMatch(file -> !ours.contains(file.getFileName().toString()))) {
                throw new RocksDbStoreException(path, "is not one: the folder has other files in it");
            }
        }
    }

    /** Refuses a newer format; a folder without one gets the present one. */
    static void check(Path path) throws IOException {
        Path file = path.resolve(FORMAT_FILE);
        String text;
        try {
            text = Files.readString(file, UTF_8).strip();
        } catch (NoSuchFileException fresh) {
            Path draft = draft(path);
            Files.writeString(
                    draft,
                    PREFACE + FORMAT + "\n",
                    UTF_8,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DSYNC,
                    LinkOption.NOFOLLOW_LINKS);
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
}
