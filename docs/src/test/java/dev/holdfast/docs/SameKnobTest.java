package dev.holdfast.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLimits;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * A knob has one default and one range, which are those of the library: its row in docs/knobs.md, the property of Spring Boot and the
 * option of the gateway say the same, and the library takes what is in the range and nothing else.
 */
class SameKnobTest {
    private static final String VALUE = "([\\d,]+) ?([a-zA-Z]*)";
    private static final Pattern FROM_TO = Pattern.compile("\\b" + VALUE + " to " + VALUE);
    private static final Pattern FROM = Pattern.compile("\\b" + VALUE + " and up\\b|at least " + VALUE);
    private static final Pattern ELSE = Pattern.compile("else " + VALUE + "$");

    private static final Map<String, Long> TIMES = Map.ofEntries(
            Map.entry("", 0L),
            Map.entry("ms", 1_000_000L),
            Map.entry("s", 1_000_000_000L),
            Map.entry("m", 60_000_000_000L),
            Map.entry("min", 60_000_000_000L),
            Map.entry("minutes", 60_000_000_000L),
            Map.entry("h", 3_600_000_000_000L),
            Map.entry("day", 86_400_000_000_000L),
            Map.entry("days", 86_400_000_000_000L));
    private static final Map<String, Long> SIZES = Map.ofEntries(
            Map.entry("", 1L),
            Map.entry("byte", 1L),
            Map.entry("k", 1L << 10),
            Map.entry("KB", 1L << 10),
            Map.entry("KiB", 1L << 10),
            Map.entry("m", 1L << 20),
            Map.entry("MB", 1L << 20),
            Map.entry("MiB", 1L << 20),
            Map.entry("g", 1L << 30),
            Map.entry("GB", 1L << 30),
            Map.entry("GiB", 1L << 30));
    /**
     * One knob.
     *
     * @param name of the builder's method or the record's component; empty if the library has none
     * @param flag empty if the gateway has none
     * @param property without {@code holdfast.}
     * @param preset what it is by default; empty where the library does not tell
     * @param library sets it
     */
    private record Knob(
            String name,
            String flag,
            String property,
            Map<String, Long> units,
            OptionalLong preset,
            LongConsumer library) {
        @Override
        public String toString() {
            return property;
        }

        /** The section of the page that has its row. */
        String section() {
            return switch (property.replaceFirst("\\..*", "")) {
                case "client" -> "The client";
                case "history" -> "History";
                case "node" -> name.equals("lease") ? "Knobs" : "Node";
                default -> "Knobs";
            };
        }

        long value(String number, String unit) {
            Long factor = Objects.requireNonNull(units.get(unit), () -> this + " has no unit " + unit);
            return Long.parseLong(number.replace(",", "")) * factor;
        }

        /** The value that stands at the beginning of a text. */
        long first(String text) {
            Matcher found = Pattern.compile("^" + VALUE).matcher(text);
            assertThat(found.find()).as(text).isTrue();
            return value(found.group(1), found.group(2));
        }

        /** The first range in a text. */
        Optional<Range> range(String text) {
            Matcher both = FROM_TO.matcher(text);
            if (both.find()) {
                long most = value(both.group(3), both.group(4));
                return Optional.of(new Range(value(both.group(1), both.group(2)), OptionalLong.of(most)));
            }
            return FROM.matcher(text)
                    .results()
                    .findFirst()
                    .map(found -> found.group(1) == null
                            ? value(found.group(3), found.group(4))
                            : value(found.group(1), found.group(2)))
                    .map(least -> new Range(least, OptionalLong.empty()));
        }
    }

    /** From the least to the most; with no most where there is no bound. */
    private record Range(long least, OptionalLong most) {
        /** Whether it says the same as another, or has a bound where that has none: that of its type, or of what stands above the library. */
        boolean isWithin(Range other) {
            return least == other.least && (other.most.isEmpty() || most.equals(other.most));
        }
    }

    private static Knob time(
            String name, String flag, String property, Optional<Duration> preset, Consumer<Duration> library) {
        OptionalLong nanos =
                preset.map(value -> OptionalLong.of(value.toNanos())).orElse(OptionalLong.empty());
        return new Knob(name, flag, property, TIMES, nanos, value -> library.accept(Duration.ofNanos(value)));
    }

    private static Knob time(String name, String flag, String property, Duration preset, Consumer<Duration> library) {
        return time(name, flag, property, Optional.of(preset), library);
    }

    private static Knob size(String name, String flag, String property, long preset, LongConsumer library) {
        return new Knob(name, flag, property, SIZES, OptionalLong.of(preset), library);
    }

    static Stream<Knob> knobs() {
        EdgeOptions edge = EdgeOptions.DEFAULT;
        Lifetime life = Lifetime.DEFAULT;
        SessionLimits session = SessionLimits.DEFAULT;
        NodeLimits node = NodeLimits.DEFAULT;
        var transport = HoldfastTransportProvider.builder();
        var client = HoldfastClientTransport.builder("http://localhost");
        Optional<Duration> untold = Optional.empty();
        return Stream.of(
                time(
                        "heartbeatInterval",
                        "--heartbeat",
                        "connection.heartbeat-interval",
                        edge.heartbeatInterval(),
                        EdgeOptions.builder()::heartbeatInterval),
                time(
                        "retryInterval",
                        "--retry",
                        "connection.retry-interval",
                        edge.retryInterval(),
                        EdgeOptions.builder()::retryInterval),
                time(
                        "maxConnectionAge",
                        "--max-connection-age",
                        "connection.max-age",
                        edge.maxConnectionAge(),
                        EdgeOptions.builder()::maxConnectionAge),
                time(
                        "stallDeadline",
                        "",
                        "connection.stall-deadline",
                        edge.stallDeadline(),
                        EdgeOptions.builder()::stallDeadline),
                time(
                        "requestDeadline",
                        "",
                        "request.deadline",
                        edge.requestDeadline(),
                        EdgeOptions.builder()::requestDeadline),
                size(
                        "maxRequestSize",
                        "--max-request-size",
                        "request.max-size",
                        edge.maxRequestSize(),
                        value -> EdgeOptions.builder().maxRequestSize(Math.toIntExact(value))),
                time(
                        "sessionReconnectGracePeriod",
                        "--reconnect-grace",
                        "session.reconnect-grace-period",
                        life.grace(),
                        life::withGrace),
                time(
                        "sessionIdleTimeout",
                        "--idle-timeout",
                        "session.idle-timeout",
                        life.idle(),
                        transport::sessionIdleTimeout),
                time("responseRetention", "", "session.response-retention", life.retention(), life::withRetention),
                time(
                        "initializationTimeout",
                        "",
                        "session.initialization-timeout",
                        life.initialization(),
                        life::withInitialization),
                time(
                        "maxCallDuration",
                        "--max-call-duration",
                        "session.max-call-duration",
                        life.call(),
                        life::withCall),
                time("parkAfter", "--park-after", "session.park-after", untold, transport::parkAfter),
                time("keepAliveInterval", "", "keep-alive-interval", untold, transport::keepAliveInterval),
                time("lease", "--lease", "node.lease", untold, transport::lease),
                time("", "--drain-timeout", "shutdown.drain-timeout", untold, value -> {}),
                time(
                        "sseReconnectGracePeriod",
                        "--sse-reconnect-grace",
                        "sse.reconnect-grace-period",
                        HttpSseOptions.DEFAULT.reconnectGrace(),
                        HttpSseOptions.DEFAULT::withReconnectGrace),
                size("streamBytes", "", "history.stream-size", session.streamBytes(), value -> history(value, 0)),
                size("streamEvents", "", "history.stream-messages", session.streamEvents(), value -> history(value, 1)),
                size("sessionBytes", "", "history.session-size", session.sessionBytes(), value -> history(value, 2)),
                size(
                        "sessionEvents",
                        "",
                        "history.session-messages",
                        session.sessionEvents(),
                        value -> history(value, 3)),
                size(
                        "finishedStreams",
                        "",
                        "history.finished-streams",
                        session.finishedStreams(),
                        value -> history(value, 4)),
                size("runningCalls", "", "history.running-calls", session.runningCalls(), value -> history(value, 5)),
                size(
                        "sessions",
                        "--max-sessions",
                        "node.max-sessions",
                        node.sessions(),
                        value -> node.withSessions((int) value)),
                size(
                        "principalSessions",
                        "--max-principal-sessions",
                        "node.max-principal-sessions",
                        node.principalSessions(),
                        value -> node.withPrincipalSessions((int) value)),
                size(
                        "runningCalls",
                        "--max-calls",
                        "node.max-running-calls",
                        node.runningCalls(),
                        value -> node.withRunningCalls((int) value)),
                size(
                        "principalShare",
                        "--principal-share",
                        "node.principal-share",
                        node.principalShare(),
                        value -> node.withPrincipalShare((int) value)),
                size(
                        "historyEvents",
                        "",
                        "node.history-messages",
                        node.historyEvents(),
                        value -> node.withHistory(node.historyBytes(), value)),
                time("timeout", "", "store.redis.timeout", untold, RedisStore.builder("redis://localhost")::timeout),
                time("patience", "--patience", "client.patience", untold, client::patience),
                time("maxSilence", "--max-silence", "client.max-silence", untold, client::maxSilence),
                time("connectTimeout", "", "client.connect-timeout", untold, client::connectTimeout),
                new Knob(
                        "maxInFlight",
                        "",
                        "client.max-in-flight",
                        SIZES,
                        OptionalLong.empty(),
                        value -> client.maxInFlight((int) value)),
                new Knob(
                        "maxResponseSize",
                        "",
                        "client.max-response-size",
                        SIZES,
                        OptionalLong.empty(),
                        value -> client.maxResponseSize((int) value)));
    }

    private static void history(long value, int place) {
        SessionLimits limits = SessionLimits.DEFAULT;
        long[] all = {
            limits.streamBytes(),
            limits.streamEvents(),
            limits.sessionBytes(),
            limits.sessionEvents(),
            limits.finishedStreams(),
            limits.runningCalls()
        };
        all[place] = value;
        new SessionLimits(all[0], (int) all[1], all[2], (int) all[3], (int) all[4], (int) all[5]);
    }

    @ParameterizedTest
    @MethodSource("knobs")
    void theLibraryHasTheDefaultAndTheRangeOfTheRow(Knob knob) {
        Map<String, String> row = row(knob);

        knob.preset()
                .ifPresent(
                        preset -> assertThat(knob.first(cell(row, "default"))).isEqualTo(preset));
        if (!knob.name().isEmpty() && row.containsKey("range")) {
            Range range = knob.range(cell(row, "range")).orElseThrow();
            LongConsumer library = knob.library();
            assertThatCode(() -> library.accept(range.least())).doesNotThrowAnyException();
            assertThatIllegalArgumentException().isThrownBy(() -> library.accept(range.least() - 1));
            range.most().ifPresent(most -> {
                assertThatCode(() -> library.accept(most)).doesNotThrowAnyException();
                assertThatIllegalArgumentException().isThrownBy(() -> library.accept(most + 1));
            });
        }
    }

    @ParameterizedTest
    @MethodSource("knobs")
    void thePropertyHasTheDefaultAndTheRangeOfTheRow(Knob knob) throws IOException {
        Map<String, String> row = row(knob);
        JsonNode property = KnobsTest.properties()
                .valueStream()
                .filter(each -> each.path("name").asString().equals("holdfast." + knob.property()))
                .findFirst()
                .orElseThrow();
        String sentence = property.path("description").asString();

        long preset = property.path("defaultValue").isValueNode()
                ? knob.first(property.path("defaultValue").asString())
                : ELSE.matcher(sentence)
                        .results()
                        .map(found -> knob.value(found.group(1), found.group(2)))
                        .findFirst()
                        .orElseThrow();
        assertThat(preset).isEqualTo(knob.first(cell(row, "default")));
        Optional<Range> range = knob.range(sentence);
        if (row.containsKey("range")) {
            assertSameRange(knob, row, range.orElseThrow());
        } else {
            range.ifPresent(told -> assertThatIllegalArgumentException()
                    .isThrownBy(() -> knob.library().accept(told.least() - 1)));
        }
    }

    @ParameterizedTest
    @MethodSource("knobs")
    void theOptionHasTheDefaultAndTheRangeOfTheRow(Knob knob) {
        if (knob.flag().isEmpty()) {
            return;
        }
        Map<String, String> row = row(knob);
        Matcher help =
                Pattern.compile(" " + knob.flag() + "=\\w+\\n((?: {6}.*\\n)+)").matcher(KnobsTest.help());
        assertThat(help.find()).isTrue();
        String sentence = help.group(1).replaceAll("\\s+", " ");

        assertThat(knob.first(sentence.replaceFirst(".*default: (\\S+)\\) *", "$1")))
                .isEqualTo(knob.first(cell(row, "default")));
        if (row.containsKey("range")) {
            assertSameRange(
                    knob, row, knob.range(sentence.replaceFirst(".*\\(", "")).orElseThrow());
        }
    }

    private static void assertSameRange(Knob knob, Map<String, String> row, Range range) {
        Range told = knob.range(cell(row, "range")).orElseThrow();
        assertThat(range.isWithin(told))
                .as("%s, and the row says %s", range, told)
                .isTrue();
    }

    @Test
    void whatDependsOnTheHeapIsSaidAlike() {
        long quarter = Runtime.getRuntime().maxMemory() / 4;

        assertThat(NodeLimits.DEFAULT.historyBytes()).isEqualTo(quarter);
        assertThat(EdgeOptions.DEFAULT.maxRequestBytes()).isEqualTo(Math.max(8L << 20, quarter));
        String page = Page.at("docs/knobs.md").text();
        assertThat(page.lines().filter(line -> line.contains("holdfast.node.history-size")))
                .allMatch(line -> line.contains("Default: a quarter of the heap |"));
        assertThat(page.lines().filter(line -> line.startsWith("| `historyBytes`")))
                .allMatch(line -> line.contains("| a quarter of the heap |"));
        assertThat(page.lines().filter(line -> line.contains("holdfast.request.max-total-size")))
                .allMatch(line -> line.contains("Default: a quarter of the heap, at least 8 MB |"));
        assertThat(page.lines().filter(line -> line.contains(".maxRequestBytes`")))
                .allMatch(line -> line.contains("| a quarter of the heap, at least 8 MiB |"));
    }

    @Test
    void theDefaultsOfTheStoreOnDiskAreTheSame() throws IOException {
        String page = Page.at("docs/knobs.md").text();

        assertThat(page).contains("| 64 MiB; 1 min | 1 MiB to 64 GiB; 10 ms to 1 h |");
        assertThat(page).contains("`holdfast.store.rocksdb.memory` | `64MB` |", ", 1 MB to 64 GB |");
        assertThat(page).contains("`holdfast.store.rocksdb.sweep-interval` | `1m` |", ", 10 ms to 1 h |");
        var store = RocksDbStore.builder(Path.of("x"));
        assertThatIllegalArgumentException().isThrownBy(() -> store.memory((1 << 20) - 1));
        assertThatIllegalArgumentException().isThrownBy(() -> store.memory((64L << 30) + 1));
        assertThatIllegalArgumentException().isThrownBy(() -> store.sweepInterval(Duration.ofMillis(9)));
        assertThatIllegalArgumentException().isThrownBy(() -> store.sweepInterval(Duration.ofHours(2)));
    }

    private static String cell(Map<String, String> row, String column) {
        return Objects.requireNonNull(row.get(column), () -> column + " of " + row);
    }

    /** The row of a knob, by the heads of the columns. */
    private static Map<String, String> row(Knob knob) {
        String section = Page.at("docs/knobs.md").text().replaceFirst("(?s).*?# " + knob.section() + "\\n", "");
        Pattern named = knob.name().isEmpty()
                ? Pattern.compile("\\| \\| `" + knob.flag() + "`.*")
                : Pattern.compile("\\| [^|]*[`.]" + knob.name() + "`.*");
        List<String> table = section.lines()
                .dropWhile(line -> !line.startsWith("|"))
                .takeWhile(line -> line.startsWith("|"))
                .toList();
        List<String> columns = cells(table.get(0));
        List<String> cells = cells(table.stream()
                .filter(line -> named.matcher(line).matches())
                .findFirst()
                .orElseThrow());
        Map<String, String> row = new HashMap<>();
        for (int i = 0; i < columns.size(); i++) {
            row.put(columns.get(i), cells.get(i));
        }
        return row;
    }

    private static List<String> cells(String line) {
        return Arrays.stream(line.split("\\|", -1)).skip(1).map(String::strip).toList();
    }
}
