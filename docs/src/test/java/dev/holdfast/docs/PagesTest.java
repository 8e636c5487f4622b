package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.StringReader;
import java.util.List;
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
        assertThat(Page.at("README.md").text().lines().count()).isLessThanOrEqualTo(150);
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
