package dev.holdfast.docs;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The files of this project, without what builds make: other modules are built meanwhile. */
final class SourceTree {
    private static final Set<String> MADE = Set.of("target", "node_modules", ".git");

    private SourceTree() {}

    /** The files whose names end so. */
    static List<Path> files(String... endings) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(Path.of(".."), new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                return MADE.contains(folder.getFileName().toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                for (String ending : endings) {
                    if (file.toString().endsWith(ending)) {
                        found.add(file);
                    }
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }
}
