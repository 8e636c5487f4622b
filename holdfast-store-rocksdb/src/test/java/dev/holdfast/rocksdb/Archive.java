package dev.holdfast.rocksdb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/** Folders that are kept as a zip among the test's resources. */
final class Archive {
    private Archive() {}

    static void unzip(String resource, Path folder) throws IOException {
        try (InputStream file = Archive.class.getResourceAsStream(resource);
                ZipInputStream zip = new ZipInputStream(file)) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                Path to = folder.resolve(entry.getName());
                Files.createDirectories(to.getParent());
                Files.copy(zip, to);
            }
        }
    }

    /** Everything but what RocksDB tells people. */
    static void zip(Path folder, Path file) throws IOException {
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file));
                var files = Files.walk(folder)) {
            for (Path each : files.filter(Archive::matters).sorted().toList()) {
                zip.putNextEntry(new ZipEntry(folder.relativize(each).toString()));
                Files.copy(each, zip);
            }
        }
    }

    private static boolean matters(Path file) {
        return Files.isRegularFile(file)
                && !file.endsWith("db/LOG")
                && !file.toString().contains("LOG.old");
    }
}
