package dev.holdfast.rocksdb;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.RocksDB;

/**
 * RocksDB's native library. It is taken out of its jar into a file that is gone as soon as it is loaded: left to itself, RocksDB
 * leaves one of 17 MB behind wherever a process is killed.
 */
final class NativeLibrary {
    /** Where RocksDB looks for its library, or puts it and leaves it there. */
    private static final String GIVEN = "ROCKSDB_SHAREDLIB_DIR";

    private NativeLibrary() {}

    /** Loads it, unless it is loaded. */
    static synchronized void load() throws IOException {
        if (System.getenv(GIVEN) == null) {
            Path folder = Files.createTempDirectory("holdfast-rocksdb");
            try {
                NativeLibraryLoader.getInstance().loadLibrary(folder.toString());
            } finally {
                remove(folder);
            }
        }
        RocksDB.loadLibrary();
    }

    private static void remove(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
            Files.delete(folder);
        } catch (IOException e) {
            // where a loaded library cannot be removed, RocksDB does it when the process ends in order
        }
    }
}
