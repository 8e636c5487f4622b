package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The owner of the sessions in a folder: a name for people, and a fingerprint of everything that identifies the owner.
 *
 * @param name on one line
 * @param fingerprint may be shown to anybody who reads the folder
 */
record Owner(String name, String fingerprint) {
    static final String FILE = "OWNER";

    /** An owner that is identified by these words, which may hold secrets. */
    static Owner of(String name, List<String> words) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (String word : words) {
                digest.update(word.getBytes(UTF_8));
                digest.update((byte) 0);
            }
            return new Owner(name.replaceAll("\\p{Cntrl}", "?"), HexFormat.of().formatHex(digest.digest()));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** Refuses the folder of another owner, unless it is taken over. The folder belongs to this owner from then on. */
    void enter(Path folder, boolean takesOver) throws IOException {
        Path file = folder.resolve(FILE);
        List<String> lines = read(file);
        if (lines.contains(fingerprint)) {
            return;
        }
        if (!lines.isEmpty() && !takesOver) {
            throw RocksDbStoreException.ofAnother(folder, lines.get(0), name);
        }
        Path draft = folder.resolve(FILE + ".new");
        Files.write(
                draft,
                List.of(name, fingerprint),
                UTF_8,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE,
                StandardOpenOption.DSYNC,
                LinkOption.NOFOLLOW_LINKS);
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** No lines if the folder has no owner; a damaged file counts as another owner. */
    private static List<String> read(Path file) throws IOException {
        try {
            List<String> lines =
                    new String(Files.readAllBytes(file), UTF_8).lines().toList();
            return lines.size() == 2 ? lines : List.of("somebody, whose name in the file " + FILE + " is damaged");
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }
}
