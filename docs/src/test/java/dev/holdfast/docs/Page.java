package dev.holdfast.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A page in Markdown. */
record Page(Path path, String text) {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern BLOCK = Pattern.compile("^```(\\w*)\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final Pattern HEADING = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE);
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)]+)\\)");

    /** The page at a path that is relative to the root of the sources. */
    static Page at(String path) {
        return read(ROOT.resolve(path));
    }

    /** README.md of the root, and all of docs. */
    static List<Page> all() {
        try (Stream<Path> pages = Files.list(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(ROOT.resolve("README.md")),
                            pages.filter(page -> page.toString().endsWith(".md")))
                    .map(Page::read)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Page read(Path path) {
        try {
            return new Page(path, Files.readString(path));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The blocks in a language. */
    List<String> blocks(String language) {
        return BLOCK.matcher(text)
                .results()
                .filter(block -> block.group(1).equals(language))
                .map(block -> block.group(2))
                .toList();
    }

    /** What it links to, but for other sites. */
    List<String> links() {
        return LINK.matcher(BLOCK.matcher(text).replaceAll(""))
                .results()
                .map(link -> link.group(1))
                .filter(link -> !link.startsWith("http"))
                .toList();
    }

    /** The page behind a link of this one. */
    Page linked(String link) {
        String file = link.replaceFirst("#.*", "");
        return file.isEmpty() ? this : read(path.resolveSibling(file));
    }

    /** The names by which its headings are linked to. */
    Set<String> anchors() {
        return HEADING.matcher(BLOCK.matcher(text).replaceAll(""))
                .results()
                .map(Page::anchor)
                .collect(Collectors.toSet());
    }

    private static String anchor(MatchResult heading) {
        return heading.group(1)
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^a-z0-9 _-]", "")
                .replace(' ', '-');
    }

    @Override
    public String toString() {
        return ROOT.relativize(path).toString();
    }
}
