package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Decisions are read only if there are few of them: one file for each module, which is linked from the first. */
class RationaleTest {
    private static final Path FIRST = Path.of("../RATIONALE.md");
    private static final int MOST_BYTES = 40_000;
    private static final int MOST_COLUMNS = 120;

    @Test
    void allOfThemTogetherAreShort() throws IOException {
        long bytes = 0;
        for (Path file : files()) {
            bytes += Files.size(file);
            assertThat(Files.readAllLines(file))
                    .as(file.toString())
                    .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(MOST_COLUMNS));
        }
        assertThat(bytes).isLessThanOrEqualTo(MOST_BYTES);
    }

    @Test
    void eachIsLinkedFromTheFirst() throws IOException {
        String first = Files.readString(FIRST);
        assertThat(files()).hasSizeGreaterThan(10).allSatisfy(file -> {
            String module =
                    Objects.requireNonNull(file.getParent()).getFileName().toString();
            assertThat(file.equals(FIRST) || first.contains("(" + module + "/RATIONALE.md)"))
                    .as(module)
                    .isTrue();
        });
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> modules = Files.list(Path.of(".."))) {
            return Stream.concat(
                            Stream.of(FIRST),
                            modules.map(module -> module.resolve("RATIONALE.md"))
                                    .filter(Files::exists))
                    .toList();
        }
    }
}
