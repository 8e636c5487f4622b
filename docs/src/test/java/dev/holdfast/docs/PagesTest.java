package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.xml.sax.InputSource;
import tools.jackson.databind.ObjectMapper;

class PagesTest {
    static List<Page> pages() {
        return Page.all();
    }

    @ParameterizedTest
    @MethodSource("pages")
    void everyLinkLeadsSomewhere(Page page) {
        for (String link : page.links()) {
            assertThatCode(() -> page.linked(link)).as(link).doesNotThrowAnyException();
            int hash = link.indexOf('#');
            if (hash >= 0) {
                assertThat(page.linked(link).anchors()).as(link).contains(link.substring(hash + 1));
            }
        }
    }

    @Test
    void everyPageIsLinkedFromTheFirst() {
        String first = Page.at("docs/README.md").text();
        for (Page page : Page.all()) {
            String name = page.path().getFileName().toString();
            assertThat(name.equals("README.md") || first.contains("(" + name + ")"))
                    .as(name)
                    .isTrue();
        }
    }

    @Test
    void theReadmeIsShort() {
        assertThat(Page.at("README.md").text().lines().count()).isLessThanOrEqualTo(185);
    }

    /** All pages of the sources, wherever they are. */
    static Stream<Page> allOfTheSources() throws IOException {
        Path root = Path.of("..");
        try (Stream<Path> files = Files.walk(root, 3)) {
            return files
                    .map(root::relativize)
                    .filter(file -> file.toString().endsWith(".md"))
                    .filter(file -> !file.toString().matches("(.*/)?(target|node_modules|\\.\\w+)/.*"))
                    .map(file -> Page.at(file.toString()))
                    .toList()
                    .stream();
        }
    }

    /** But for tables, blocks of code, and code and links that are longer by themselves. */
    @ParameterizedTest
    @MethodSource("allOfTheSources")
    void linesWrapAt120Columns(Page page) {
        assertThat(page.text().replaceAll("(?ms)^```.*?^```$", "").lines())
                .filteredOn(line -> line.length() > 120)
                .filteredOn(line -> !line.startsWith("|") && !line.startsWith("    "))
                .filteredOn(line -> line.replaceAll("`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)", "x")
                        .strip()
                        .contains(" "))
                .isEmpty();
    }

    /** Types, rules and settings of other projects that no source of ours names. */
    private static final Set<String> FOREIGN = Set.of(
            "ArrayRecordComponent",
            "ContentCachingResponseWrapper",
            "FutureReturnValueIgnored",
            "LocaleResolver",
            "ProxyHandler",
            "ProxyTimeout",
            "StdioMcpTransport",
            "WebAsyncManager",
            "WebMvcSseServerTransportProvider");

    /** A type that was renamed, and is named in a page as before, occurs nowhere else. */
    @Test
    void everyTypeThatAPageNamesOccursInTheSources() throws IOException {
        Set<String> known = new HashSet<>(FOREIGN);
        Pattern word = Pattern.compile("\\b[A-Z]\\w+");
        for (Path file : SourceTree.files(".java", ".mjs")) {
            word.matcher(Files.readString(file))
                    .results()
                    .map(MatchResult::group)
                    .forEach(known::add);
        }
        Pattern named = Pattern.compile("`([A-Z][a-z]\\w+)(\\.\\w+)?(\\([^`]*\\))?`");
        assertThat(allOfTheSources().toList())
                .allSatisfy(
                        page -> assertThat(named.matcher(page.text()).results().map(name -> name.group(1)))
                                .isSubsetOf(known));
    }

    @Test
    void everyTestThatContributorsAreToldToRunExists() throws IOException {
        List<MatchResult> commands = Pattern.compile("-pl (\\S+) .*-Dtest=(\\w+)")
                .matcher(Page.at("CONTRIBUTING.md").text())
                .results()
                .toList();
        assertThat(commands).isNotEmpty();
        for (MatchResult command : commands) {
            try (Stream<Path> files = Files.walk(Path.of("..", command.group(1), "src/test/java"))) {
                assertThat(files).as(command.group()).anyMatch(file -> file.endsWith(command.group(2) + ".java"));
            }
        }
    }

    @Test
    void theTableOfInteropSuitesHasThoseThatAreThere() throws IOException {
        Path folder = Path.of("../integration-tests/interop");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(Pattern.compile("^\\| `(.+\\.test\\.mjs)` \\|", Pattern.MULTILINE)
                            .matcher(Files.readString(folder.resolve("README.md")))
                            .results()
                            .map(row -> row.group(1)))
                    .containsExactlyInAnyOrderElementsOf(
                            files.map(file -> file.getFileName().toString())
                                    .filter(name -> name.endsWith(".test.mjs"))
                                    .toList());
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void everyBlockOfJsonCanBeRead(Page page) {
        ObjectMapper mapper = new ObjectMapper();
        for (String block : page.blocks("json")) {
            assertThatCode(() -> mapper.readTree(block)).as(block).doesNotThrowAnyException();
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void everyBlockOfXmlCanBeRead(Page page) {
        for (String block : page.blocks("xml")) {
            assertThatCode(() -> DocumentBuilderFactory.newInstance()
                            .newDocumentBuilder()
                            .parse(new InputSource(new StringReader("<all>" + block + "</all>"))))
                    .as(block)
                    .doesNotThrowAnyException();
        }
    }
}
