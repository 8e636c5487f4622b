package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The page that shows how Holdfast is built is short, and names types and methods that exist. */
class ArchitectureTest {
    private static final String PAGE = Page.at("ARCHITECTURE.md").text();
    private static final int MOST_LINES = 250;
    private static final int MOST_COLUMNS = 120;
    private static final Pattern TYPE = Pattern.compile("`([A-Z][a-z]\\w+)(?:\\.([a-z]\\w+))?`");
    /** What is named without being a type. */
    private static final Set<String> OTHERS = Set.of("Resumed", "Gap", "Ended", "Closed", "Unknown");

    @Test
    void isShort() {
        assertThat(PAGE.lines())
                .hasSizeLessThanOrEqualTo(MOST_LINES)
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(MOST_COLUMNS));
    }

    @Test
    void namesWhatExists() throws IOException {
        Map<String, Path> sources = SourceTree.files(".java").stream()
                .collect(Collectors.toMap(
                        file -> file.getFileName().toString().replace(".java", ""), file -> file, (one, other) -> one));
        Matcher names = TYPE.matcher(PAGE);
        while (names.find()) {
            String type = names.group(1);
            assertThat(OTHERS.contains(type) || sources.containsKey(type))
                    .as(type)
                    .isTrue();
            if (names.group(2) != null) {
                assertThat(Files.readString(sources.get(type))).contains(" " + names.group(2) + "(");
            }
        }
    }
}
