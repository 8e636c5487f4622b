package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The table of versions says what is tested. */
class SdkTableTest {
    private static final String PAGE = Page.at("docs/java-sdk.md").text();
    private static final String BUILD = Page.at("pom.xml").text();

    private static List<String> found(String expression, String text) {
        return Pattern.compile(expression, Pattern.MULTILINE)
                .matcher(text)
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
    }

    private static String version(String property) {
        return found("<" + Pattern.quote(property) + ">(.*)</", BUILD).get(0);
    }

    private static String minor(String version) {
        return version.replaceFirst("^(\\d+\\.\\d+)\\..*", "$1");
    }

    @Test
    void itHasTheVersionsOfTheSdkThatTheBuildRuns() {
        List<String> run = List.of(
                found("^for sdk in (.*); do$", Page.at(".ci/run").text()).get(0).split(" ", -1));

        assertThat(found(
                        "^\\| (\\d+\\.\\d+\\.\\d+) \\| Streamable HTTP, HTTP\\+SSE \\| Streamable HTTP, HTTP\\+SSE \\|$",
                        PAGE))
                .isEqualTo(run);
        assertThat(run).last().isEqualTo(version("mcp.version"));
    }

    @Test
    void itHasTheContainersThatTheTestsRunIn() {
        assertThat(PAGE)
                .contains("| Jetty " + minor(version("jetty.version")) + " (ee11) and Tomcat "
                        + minor(version("tomcat.version")).replace(".0", "") + " | Jetty "
                        + minor(version("jetty.servlet60.version")) + " (ee10) and Tomcat "
                        + minor(version("tomcat.servlet60.version")) + " |");
    }
}
