package dev.holdfast.rocksdb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** What disks and people do to files. */
enum Damage {
    FLIPPED {
        @Override
        void to(Path file) throws IOException {
            byte[] bytes = Files.readAllBytes(file);
            bytes[bytes.length / 2] ^= 0x55;
            Files.write(file, bytes);
        }
    },
    CUT {
        @Override
        void to(Path file) throws IOException {
            byte[] bytes = Files.readAllBytes(file);
            Files.write(file, Arrays.copyOf(bytes, bytes.length / 2));
        }
    },
    EMPTIED {
        @Override
        void to(Path file) throws IOException {
            Files.write(file, new byte[0]);
        }
    },
    GONE {
        @Override
        void to(Path file) throws IOException {
            Files.delete(file);
        }
    };

    abstract void to(Path file) throws IOException;

    /** The files in a folder with this in their name, oldest first. */
    static List<Path> files(Path folder, String part) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().contains(part))
                    .sorted(Comparator.naturalOrder())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
