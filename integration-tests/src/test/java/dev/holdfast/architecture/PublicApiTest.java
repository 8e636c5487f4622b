package dev.holdfast.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** CONTRIBUTING.md lists the public API: the public types of the packages that each module exports. */
class PublicApiTest {
    private static final Path ROOT = Path.of("..");
    private static final int SCREEN = 60;

    private static final Pattern EXPORT = Pattern.compile("(?m)^ {4}exports ([\\w.]+);");
    private static final Pattern PUBLIC_TYPE =
            Pattern.compile("(?m)^public (?:[a-z-]+ )*(?:class|interface|record|enum|@interface) (\\w+)");
    /** A package and its types, which go on in lines that are indented more. */
    private static final Pattern LISTED =
            Pattern.compile("(?m)^ {4}(dev\\.holdfast[\\w.]*): ((?:.*\\n(?: {6,}.*\\n)*))");

    private static List<Path> modules() throws IOException {
        try (Stream<Path> folders = Files.list(ROOT)) {
            return folders.map(folder -> folder.resolve("src/main/java/module-info.java"))
                    .filter(Files::exists)
                    .toList();
        }
    }

    private static Map<String, List<String>> exported(Path descriptor) {
        return EXPORT.matcher(read(descriptor))
                .results()
                .map(export -> export.group(1))
                .collect(Collectors.toMap(
                        name -> name, name -> publicTypes(descriptor.resolveSibling(name.replace('.', '/')))));
    }

    private static List<String> publicTypes(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .flatMap(file -> PUBLIC_TYPE.matcher(read(file)).results().map(type -> type.group(1)))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String listed(MatchResult line) {
        return line.group(2).replaceAll("\\s+", " ").strip();
    }

    @Test
    void thePublicApiIsWhatIsListed() throws IOException {
        Map<String, String> code = new TreeMap<>();
        for (Path descriptor : modules()) {
            exported(descriptor).forEach((name, types) -> code.put(name, String.join(", ", types)));
        }
        Map<String, String> list = new TreeMap<>();
        LISTED.matcher(read(ROOT.resolve("CONTRIBUTING.md")))
                .results()
                .forEach(line -> list.put(line.group(1), listed(line)));

        assertThat(list).isEqualTo(code);
    }

    @Test
    void thePublicApiOfAModuleFitsOneScreen() throws IOException {
        for (Path descriptor : modules()) {
            assertThat(exported(descriptor).values().stream()
                            .mapToInt(List::size)
                            .sum())
                    .as("public types of %s", descriptor)
                    .isLessThanOrEqualTo(SCREEN);
        }
    }
}
