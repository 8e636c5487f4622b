package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.NoStore;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.stdio.ShellServer;
import dev.holdfast.gateway.stdio.StdioBackend;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** What the page about metrics and the dashboard say is what a gateway measures. */
@Timeout(60)
class MetricsPageTest {
    private static final Path PAGE = Path.of("../docs/metrics.md");
    private static final Path DASHBOARD = Path.of("../docs/grafana.json");
    private static final Pattern ROW =
            Pattern.compile("^\\| `(holdfast\\.[a-z.]+)` \\| ([a-z]+) \\| ([a-z]+) \\|([^|]*)\\|", Pattern.MULTILINE);
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final Pattern ALERT = Pattern.compile("^ {6}(.*holdfast_.*)$", Pattern.MULTILINE);
    private static final Pattern SELECTOR = Pattern.compile("(holdfast_[a-z_]+)(?:\\{([^}]*)\\})?");
    private static final Pattern MATCHER = Pattern.compile("([a-z_]+)(?:=~|!=|=)\"([^\"]*)\"");

    /** A meter as the page tells of it; the unit of what is counted is said by its name. */
    private record Told(String type, String unit, Set<String> tags) {}

    @Test
    void thePageNamesEveryMeterWithItsUnitAndTags() throws IOException {
        Map<String, Told> told = new TreeMap<>();
        Matcher rows = ROW.matcher(Files.readString(PAGE));
        while (rows.find()) {
            Set<String> tags = new TreeSet<>();
            CODE.matcher(rows.group(4)).results().forEach(tag -> tags.add(tag.group(1)));
            boolean measured = List.of("bytes", "seconds").contains(rows.group(3));
            told.put(rows.group(1), new Told(rows.group(2), measured ? rows.group(3) : "", tags));
        }

        assertThat(told).isEqualTo(registered());
    }

    private static Map<String, Told> registered() {
        ScheduledExecutorService clock = Executors.newScheduledThreadPool(1);
        try (TestGateway gateway = new TestGateway();
                StdioBackend backend = new StdioBackend(
                        "",
                        ShellServer.COMMAND,
                        StdioOptions.DEFAULT,
                        Processes.ofThisMachine(),
                        1,
                        clock,
                        ByteBudget.ofHeap())) {
            Meters all = new Meters();
            Meters.OfServer meters = all.of("");
            meters.watch(gateway.gateway.engine());
            meters.watch(backend);
            meters.timed(new NoStore());
            Map<String, Told> registered = new TreeMap<>();
            for (Meter meter : all.registry().getMeters()) {
                Meter.Id id = meter.getId();
                Set<String> tags = new TreeSet<>();
                id.getTags().stream().map(Tag::getKey).forEach(tags::add);
                String unit = String.valueOf(id.getBaseUnit()).replace("null", "");
                registered.put(id.getName(), new Told(type(id), unit, tags));
            }
            return registered;
        } finally {
            clock.shutdownNow();
        }
    }

    private static String type(Meter.Id id) {
        return switch (id.getType()) {
            case GAUGE -> "gauge";
            case COUNTER -> "counter";
            case TIMER -> "timer";
            default -> "other";
        };
    }

    @Test
    void alertsNameOnlyWhatIsMeasured() throws IOException {
        List<String> expressions = ALERT.matcher(Files.readString(PAGE))
                .results()
                .map(alert -> alert.group(1))
                .toList();

        assertThat(expressions).hasSizeGreaterThan(8);
        assertMeasured(expressions);
    }

    @Test
    void theDashboardIsOneAndNamesOnlyWhatIsMeasured() throws IOException {
        JsonNode dashboard = new ObjectMapper().readTree(Files.readString(DASHBOARD));

        assertThat(dashboard.path("title").asString()).isEqualTo("Holdfast");
        assertThat(dashboard.propertyNames()).contains("uid", "schemaVersion", "panels", "templating", "time");
        List<String> expressions = new ArrayList<>();
        Set<Integer> ids = new TreeSet<>();
        for (JsonNode panel : dashboard.path("panels")) {
            String title = panel.path("title").asString();
            assertThat(ids.add(panel.path("id").asInt()))
                    .as("%s has an id of its own", title)
                    .isTrue();
            assertFits(panel.path("gridPos"));
            if (!panel.path("type").asString().equals("row")) {
                assertThat(panel.path("type").asString()).as(title).isIn("stat", "timeseries");
                assertThat(panel.path("description").asString()).as(title).isNotEmpty();
                assertThat(panel.path("targets").size()).as(title).isPositive();
                for (JsonNode target : panel.path("targets")) {
                    assertThat(target.path("refId").asString()).as(title).matches("[A-Z]");
                    assertThat(target.path("expr").asString()).as(title).contains("job=~\"$job\"");
                    expressions.add(target.path("expr").asString());
                }
            }
        }
        assertThat(expressions).hasSizeGreaterThan(20).allSatisfy(MetricsPageTest::isBalanced);
        assertMeasured(expressions);
    }

    private static void assertFits(JsonNode place) {
        assertThat(place.path("x").asInt() + place.path("w").asInt()).isBetween(1, 24);
        assertThat(place.path("h").asInt()).isPositive();
        assertThat(place.path("y").asInt(-1)).isNotNegative();
    }

    private static void isBalanced(String expression) {
        for (String pair : List.of("()", "{}", "[]")) {
            assertThat(expression.chars().filter(c -> c == pair.charAt(0)).count())
                    .as("%s in %s", pair, expression)
                    .isEqualTo(
                            expression.chars().filter(c -> c == pair.charAt(1)).count());
        }
    }

    /** Every metric, label and value of a label that these expressions ask for is there, as soon as a call has run. */
    private static void assertMeasured(List<String> expressions) {
        try (TestGateway gateway = new TestGateway()) {
            HttpPeer.connected(gateway.url()).call(1, "tools/list");
            Scrape scrape = Scrape.of(gateway);
            for (String expression : expressions) {
                Matcher selectors = SELECTOR.matcher(expression);
                assertThat(selectors.find()).as(expression).isTrue();
                do {
                    String name = selectors.group(1);
                    assertThat(scrape.names()).as(expression).contains(name);
                    String labels = selectors.group(2) == null ? "" : selectors.group(2);
                    MATCHER.matcher(labels).results().forEach(label -> {
                        if (!Set.of("job", "instance").contains(label.group(1))) {
                            for (String value : label.group(2).split("\\|", -1)) {
                                assertThat(scrape.value(name, label.group(1) + "=\"" + value + "\""))
                                        .as(expression)
                                        .isNotNegative();
                            }
                        }
                    });
                } while (selectors.find());
            }
        }
    }
}
