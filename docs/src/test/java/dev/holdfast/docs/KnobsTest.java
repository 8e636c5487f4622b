package dev.holdfast.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngineBuilder;
import dev.holdfast.gateway.Main;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.redis.RedisStoreBuilder;
import dev.holdfast.rocksdb.RocksDbStoreBuilder;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.upstream.UpstreamBackendBuilder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.node.ArrayNode;

/** Every knob stands in the list of knobs, and no page names one that does not exist. */
class KnobsTest {
    private static final Pattern FLAG = Pattern.compile("(?<![\\w-])--[a-z][a-z-]+");
    private static final Pattern PROPERTY = Pattern.compile("(?<![\\w./])holdfast(\\.[a-z-]+)+(?==|`)");
    /** Options of other programs that the pages name. */
    private static final Set<String> FOREIGN = Set.of(
            "--stdio",
            "--transport",
            "--server-url",
            "--stateful",
            "--cors",
            "--help",
            "--version",
            "--add-modules",
            "--init");

    private static final String HEAD = "| property | default | what it does |\n|---|---|---|\n";

    private static final String KNOBS = Page.at("docs/knobs.md").text();

    @ParameterizedTest
    @ValueSource(
            classes = {
                HoldfastTransportProviderBuilder.class,
                HoldfastClientTransport.Builder.class,
                UpstreamBackendBuilder.class
            })
    void everyMethodOfTheBuilderIsListed(Class<?> builder) {
        assertThat(knobs(builder))
                .isNotEmpty()
                .allSatisfy(name -> assertThat(KNOBS).contains("`" + name + "`"));
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                EdgeOptions.Builder.class,
                SessionEngineBuilder.class,
                RocksDbStoreBuilder.class,
                RedisStoreBuilder.class
            })
    void everyMethodOfABuilderBelowIsListed(Class<?> builder) {
        assertThat(knobs(builder))
                .isNotEmpty()
                .allSatisfy(name -> assertThat(KNOBS).containsPattern("[`.]" + name + "`"));
    }

    private static List<String> knobs(Class<?> builder) {
        return Arrays.stream(builder.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()))
                .map(Method::getName)
                .filter(name -> !Set.of("build", "open", "toString").contains(name))
                .toList();
    }

    @Test
    void everyOptionOfTheGatewayIsListed() {
        assertThat(options()).isNotEmpty().allSatisfy(flag -> assertThat(KNOBS).contains("`" + flag));
    }

    @Test
    void noPageNamesAnOptionThatIsNotThere() {
        Set<String> known = options();
        for (Page page : Page.all()) {
            String text = page.text().replaceAll("(?m)^\\| .*supergateway.*\\n(\\|.*\\n)*", "");
            assertThat(FLAG.matcher(text).results().map(MatchResult::group).filter(flag -> !FOREIGN.contains(flag)))
                    .as(page.toString())
                    .allSatisfy(flag -> assertThat(known).contains(flag));
        }
    }

    private static Set<String> options() {
        return FLAG.matcher(help())
                .results()
                .map(MatchResult::group)
                .filter(flag -> !FOREIGN.contains(flag))
                .collect(Collectors.toSet());
    }

    /** What the gateway says of its options. */
    static String help() {
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, UTF_8));
        try {
            Main.main(new String[] {"serve", "--help"});
            Main.main(new String[] {"connect", "--help"});
            Main.main(new String[] {"doctor", "--help"});
        } finally {
            System.setOut(out);
        }
        return printed.toString(UTF_8);
    }

    /** The tables of properties are what the metadata says: {@code -Dknobs.write=true} writes them. */
    @ParameterizedTest
    @CsvSource({"Spring Boot, (?!holdfast\\.client\\.).*", "Spring Boot clients, holdfast\\.client\\..*"})
    void everyPropertyIsListedWithItsDefault(String section, String names) throws IOException {
        String table = properties()
                .valueStream()
                .filter(property -> property.path("name").asString().matches(names))
                .map(property -> "| `" + property.path("name").asString() + "` | " + shown(property) + " | "
                        + property.path("description").asString() + " |\n")
                .sorted()
                .collect(Collectors.joining("", HEAD, ""));
        Page page = Page.at("docs/knobs.md");
        Pattern here = Pattern.compile("(?<=## " + section + "\\n\\n)(\\|.*\\n)+");

        if (Boolean.getBoolean("knobs.write")) {
            Files.writeString(page.path(), here.matcher(page.text()).replaceFirst(Matcher.quoteReplacement(table)));
        }
        assertThat(Page.at("docs/knobs.md").text())
                .as("mvn -q -pl docs -am test -Dtest=KnobsTest -Dknobs.write=true")
                .containsPattern("## " + section + "\\n\\n" + Pattern.quote(table));
    }

    private static String shown(JsonNode property) {
        JsonNode preset = property.path("defaultValue");
        return preset.isValueNode() ? "`" + preset.asString() + "`" : "";
    }

    @Test
    void noPageNamesAPropertyThatIsNotThere() throws IOException {
        Set<String> known = properties()
                .valueStream()
                .map(property -> property.path("name").asString())
                .collect(Collectors.toSet());
        for (Page page : Page.all()) {
            if (page.path().endsWith("metrics.md")) {
                // its names are those of meters, and a test of the gateway compares them with what is measured
                continue;
            }
            assertThat(PROPERTY.matcher(page.text()).results().map(MatchResult::group))
                    .as(page.toString())
                    .allSatisfy(name -> assertThat(known).contains(name));
        }
    }

    /** Spring's own modules have such a file too: that of the starters is the one whose first property is ours. */
    static JsonNode properties() throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        ArrayNode all = mapper.createArrayNode();
        int starters = 0;
        for (URL file : Collections.list(
                KnobsTest.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream metadata = file.openStream()) {
                JsonNode properties = mapper.readTree(metadata).path("properties");
                if (properties.path(0).path("name").asString("").startsWith("holdfast.")) {
                    properties.forEach(all::add);
                    starters++;
                }
            }
        }
        if (starters != 1) {
            throw new IOException("metadata of " + starters + " starters are on the class path");
        }
        return all;
    }
}
