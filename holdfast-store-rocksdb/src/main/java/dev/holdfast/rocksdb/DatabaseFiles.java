package dev.holdfast.rocksdb;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.stream.Stream;

/** RocksDB's files in the folder of a store, and how a draft takes the place of a damaged database. */
final class DatabaseFiles {
    private static final String DATABASE = "db";

    private final Path folder;

    /** The files in this folder of a store. */
    DatabaseFiles(Path folder) {
        this.folder = folder;
    }

    /** RocksDB's own folder. */
    Path database() {
        return folder.resolve(DATABASE);
    }

    /** Where the database is made anew. */
    Path draft() {
        return folder.resolve(DATABASE + ".new");
    }

    /** Removes what is left of an earlier draft. */
    void beginDraft() {
        changing(() -> remove(draft()));
    }

    /** Puts the draft, which is whole, in the place of the database. If the process dies here, the next opening finishes it. */
    void useDraft() {
        changing(() -> {
            Path old = folder.resolve(DATABASE + ".old");
            remove(old);
            Files.move(database(), old, StandardCopyOption.ATOMIC_MOVE);
        });
        finishDraft();
    }

    /** Finishes a replacement during which the process has died. */
    void finishDraft() {
        changing(() -> {
            if (!Files.exists(database()) && Files.exists(draft())) {
                Files.move(draft(), database(), StandardCopyOption.ATOMIC_MOVE);
            }
            remove(folder.resolve(DATABASE + ".old"));
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
            throw new RocksDbStoreException(folder, "cannot be changed", e);
        }
    }

    private static void remove(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** How many bytes the files take. */
    long bytes() {
        return bytes(database(), "");
    }

    /** How many bytes are in logs: an opening writes them into tables. */
    long logBytes() {
        return bytes(database(), ".log");
    }

    /** How many bytes the files in a folder take whose names end so. */
    static long bytes(Path directory, String ending) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(Path::toFile)
                    .filter(file -> file.isFile() && file.getName().endsWith(ending))
                    .mapToLong(File::length)
                    .sum();
        } catch (IOException e) {
            // a folder that cannot be listed now is not counted now
            return 0;
        }
    }
}
