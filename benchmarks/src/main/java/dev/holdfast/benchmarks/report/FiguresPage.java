package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.Goal;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Spread;
import dev.holdfast.benchmarks.result.Weight;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Results for those who decide whether to use Holdfast: one page, and charts beside it. What was not measured is left out; each number
 * is in the results, or computed of them.
 */
public final class FiguresPage {
    private static final int COLUMNS = 120;
    private static final double KB = 1 << 10;
    private static final double GB = 1 << 30;
    private static final double MILLION = 1e6;
    private static final List<Integer> NODES = List.of(1, 2, 4, 8, 16, 32);
    private static final int PROCESSORS_OF_A_NODE = 2;
    private static final String LISTENS = "heap, session that listens";

    /** What is no server that somebody could use. */
    private static final List<String> HIDDEN = List.of("sdk", ScenarioResult.LIMIT);

    private static final Map<String, String> NAMES = Map.of(
            "holdfast", "Holdfast",
            "official", "official transport",
            "spring-ai", "Spring AI (Spring Boot)",
            "quarkus", "Quarkus MCP",
            "typescript", "TypeScript SDK",
            "floor", "bare servlet, no MCP",
            "rocksdb", "Holdfast on RocksDB",
            "redis", "Holdfast on Redis",
            "holdfast, Spring Boot", "Holdfast in Spring Boot");

    private final Results results;
    private final StringBuilder text = new StringBuilder();
    private final Map<String, String> files = new LinkedHashMap<>();

    private FiguresPage(Results results) {
        this.results = results;
    }

    /** The page and its charts, by the names of their files. */
    public static Map<String, String> of(Results results) {
        FiguresPage page = new FiguresPage(results);
        page.write();
        page.files.put("README.md", page.text.toString().strip() + "\n");
        return page.files;
    }

    private void write() {
        heading("# Holdfast in figures");
        paragraph("Holdfast beside other MCP servers, transports and gateways on one machine: " + machine()
                + " Written by "
                + "`benchmarks/run page`, with no number by hand; [how it was measured](#how-it-was-measured) is at the end, "
                + "where the time goes is in [RESULTS](../RESULTS.md).");
        paragraph(
                "Each call is an echo of five letters. A row has medians of all rounds. *First over this* divides the "
                        + "calls/s of the first row by those of this one, within each round: above 1 the first row is faster. "
                        + "p50 and p99 are at full load, with every connection busy; CPU is what the server's process takes for a "
                        + "call, KB what it allocates for one in Java objects.");
        scenarios(
                "## Servers in Java",
                "java",
                List.of("sync-tomcat", "immediate-jetty", "spring", "others"),
                "Holdfast keeps what a client would miss when its connection breaks; the official transport keeps nothing. "
                        + "FastMCP is not here: it is a Python project, and what is compared comes from Maven Central and "
                        + "npm.");
        scenarios(
                "## Gateways in front of a stdio server",
                "gateway",
                List.of("gateway"),
                "The server behind each is the same Node program; its processor time and memory are not in the columns.");
        scenarios(
                "## What durability costs",
                "durability",
                List.of("store", "redis"),
                "In memory, a session survives its connections. On RocksDB it survives the death of the process, on Redis "
                        + "that of a machine, and any node can serve it. Redis runs on the same processors here; its own "
                        + "processor time is not in the column.");
        weights();
        scenarios(
                "## Growth with sessions",
                "growth",
                List.of("growth", "parked"),
                "Attached sessions have a listening GET each, on which a heartbeat is written every 15 s; parked ones are "
                        + "on disk only. Both do nothing beside the 64 that are measured.");
        nodes();
        million();
        measured();
    }

    private void weights() {
        List<Weight> heaps = weighed("heap, session").toList();
        if (heaps.isEmpty()) {
            return;
        }
        heading("## What a session weighs");
        rows("| heap | a session, KB | with a listening GET, KB |\n|---|---:|---:|", heaps, LISTENS);
        files.put(
                "memory.svg",
                Chart.of(
                        "heap of a session with a listening GET, KB",
                        weighed(LISTENS)
                                .map(weight -> new Chart.Bar(named(weight.server()), Spread.of(weight.each() / KB)))
                                .toList()));
        chart("memory", "heap of a session");
        paragraph("What the bare servlet has is Jetty's own share of an open response, which is in the other rows too; "
                + "those of Spring Boot are in Tomcat.");
        List<Weight> gateways = weighed("memory of all processes, session").toList();
        if (!gateways.isEmpty()) {
            rows(
                    "| gateway and its children, all memory | a session, KB | with a listening GET, KB |\n|---|---:|---:|",
                    gateways,
                    "memory of all processes, session that listens");
            paragraph(
                    "Holdfast and supergateway start a child for each session, and that is what weighs; mcp-proxy gives "
                            + "all sessions one child.");
        }
    }

    private void rows(String head, List<Weight> first, String second) {
        line(head);
        for (Weight weight : first) {
            String listens = weighed(second)
                    .filter(other -> other.server().equals(weight.server()))
                    .map(other -> Table.number(other.each() / KB))
                    .findFirst()
                    .orElse("");
            line("| " + named(weight.server()) + " | " + Table.number(weight.each() / KB) + " | " + listens + " |");
        }
        line("");
    }

    private void nodes() {
        Optional<ScenarioResult> found = outcome("nodes");
        if (found.isEmpty()) {
            return;
        }
        ScenarioResult outcome = found.get();
        List<Contestant> nodes = outcome.contestants().stream()
                .filter(contestant -> redisOf(contestant, outcome).isPresent())
                .toList();
        heading("## Nodes on one Redis");
        line(
                "| called | calls/s | p50 ms | p99 ms | CPU of nodes, us/call | CPU of Redis, us/call | processors busy |");
        line("|---|---:|---:|---:|---:|---:|---:|");
        for (Contestant contestant : nodes) {
            double redis = median(redisOf(contestant, outcome).orElseThrow(), Figure.CPU);
            double all = median(contestant, Figure.CPU) + redis;
            line("| " + contestant.name() + cells(contestant, Figure.RATE, Figure.P50, Figure.P99, Figure.CPU) + " | "
                    + Table.number(redis) + " | "
                    + Table.number(median(contestant, Figure.RATE) * all / MILLION) + " |");
        }
        line("");
        files.put(
                "nodes.svg",
                Chart.of(
                        List.of(new ScenarioResult("nodes on one Redis", outcome.load(), nodes, List.of())),
                        Figure.RATE));
        chart("nodes", "calls per second of nodes on one Redis");
        Contestant last = nodes.get(nodes.size() - 1);
        capacity(
                last.spread(Figure.CPU).least(),
                redisOf(last, outcome).orElseThrow().spread(Figure.CPU).least());
    }

    /** @param redis microseconds of its processor time for a call, as {@code node} is of a node's */
    private void capacity(double node, double redis) {
        double most = MILLION / redis;
        paragraph(String.format(
                Locale.ROOT,
                "All nodes, Redis and the clients share the %d processors of this machine, so that more nodes make no more "
                        + "calls here. Where several are called, each session is opened at one and called at another. On paper, where each has "
                        + "processors for itself, by the least processor time of the last row (%s us of nodes, %s us of "
                        + "Redis, since what else a machine does only adds to it): Redis executes commands on one thread, "
                        + "which is full at %,.0f calls/s; to get there takes %.1f processors of nodes. More calls than "
                        + "that need a Redis Cluster, or a second Redis with nodes of its own.",
                results.machine().processors(),
                Table.number(node),
                Table.number(redis),
                most,
                node / redis));
        line("| nodes of " + PROCESSORS_OF_A_NODE + " processors | calls/s, computed | limited by |");
        line("|---:|---:|---|");
        for (int count : NODES) {
            double able = count * PROCESSORS_OF_A_NODE * MILLION / node;
            line(String.format(
                    Locale.ROOT, "| %d | %,.0f | %s |", count, Math.min(able, most), able < most ? "nodes" : "Redis"));
            if (able >= most) {
                break;
            }
        }
        line("");
    }

    private static Optional<Contestant> redisOf(Contestant nodes, ScenarioResult outcome) {
        return outcome.contestants().stream()
                .filter(contestant -> contestant.name().equals(nodes.name() + ": Redis"))
                .findFirst();
    }

    private void million() {
        if (results.weights().isEmpty()) {
            return;
        }
        heading("## A million sessions, on paper");
        paragraph(
                "The weights above, a million times. What sessions keep of their history comes on top, up to the bounds "
                        + "in [knobs](../../docs/knobs.md); so does the kernel's memory for sockets.");
        line("| what | for one | for a million |\n|---|---:|---:|");
        times("holdfast", "heap, session", "heap: sessions in memory, nobody listens");
        times("holdfast", LISTENS, "heap: sessions in memory, all listen");
        times("official", LISTENS, "heap: official transport, all listen");
        times("rocksdb", LISTENS, "heap: on RocksDB, all listen");
        times("rocksdb", "disk, session with a short history", "disk: on RocksDB, parked, some 9 messages each");
        times("redis", LISTENS, "heap of nodes, together: on Redis, all listen");
        times("redis", "memory of Redis, session", "memory of Redis: sessions that have called nothing");
        times(
                "redis",
                "memory of Redis, session that has called once",
                "memory of Redis: sessions that have called once");
        line("| sockets of nodes, together, where all listen | 1 | 1,000,000 |");
        weighed("connections of a node")
                .forEach(weight ->
                        line(String.format(Locale.ROOT, "| sockets of Redis, for a node | | %.0f |", weight.each())));
        line("");
    }

    private void times(String server, String what, String shown) {
        weighed(what)
                .filter(weight -> weight.server().equals(server))
                .forEach(weight -> line(String.format(
                        Locale.ROOT,
                        "| %s | %s KB | %s GB |",
                        shown,
                        Table.number(weight.each() / KB),
                        Table.number(weight.each() * MILLION / GB))));
    }

    private void measured() {
        heading("## How it was measured");
        paragraph(machine() + " `benchmarks/run page`, which is the comparison `" + results.arguments() + "`, took "
                + Math.round(results.seconds() / 60.0)
                + " minutes; [README](../README.md) tells what its words mean and "
                + "how each server is set up. Servers of one table run beside each other and are measured in turns, each "
                + "warmed up before; the load generator is one process more on the same processors. Believe ratios, and CPU and KB "
                + "before calls/s.");
        List<Contestant> all = results.outcomes().stream()
                .flatMap(outcome -> outcome.contestants().stream())
                .toList();
        paragraph(String.format(
                Locale.ROOT,
                "%d of %d times a server was still getting faster when its rounds began; between rounds the calls/s of one "
                        + "server differed by up to %.1f times, which tells how much else the machine did.",
                all.stream().filter(one -> one.warmUp().endsWith("not steady")).count(),
                all.stream().filter(one -> !one.warmUp().isEmpty()).count(),
                all.stream()
                        .map(one -> one.spread(Figure.RATE))
                        .mapToDouble(rate -> rate.most() / rate.least())
                        .max()
                        .orElse(1)));
        List<String> errors = results.outcomes().stream()
                .flatMap(outcome -> outcome.contestants().stream()
                        .filter(contestant -> contestant.errors() > 0)
                        .map(contestant ->
                                outcome.scenario() + ", " + named(contestant.name()) + ": " + contestant.errors()))
                .toList();
        paragraph(errors.isEmpty() ? "No call failed." : "Calls that failed: " + String.join("; ", errors) + ".");
        paragraph(
                "To measure again on a machine with nothing else to do: `benchmarks/run page`. To write this page again "
                        + "from its results: `benchmarks/run page --from benchmarks/page`.");
    }

    private String machine() {
        Machine machine = results.machine();
        return machine.processors() + " processors (" + machine.processor().strip() + "), " + machine.system() + ", "
                + machine.java() + ", " + machine.time().substring(0, 10) + ".";
    }

    private void scenarios(String heading, String chart, List<String> names, String explanation) {
        List<ScenarioResult> shown = names.stream()
                .flatMap(name -> outcome(name).stream())
                .map(FiguresPage::shown)
                .toList();
        if (shown.isEmpty()) {
            return;
        }
        heading(heading);
        for (ScenarioResult outcome : shown) {
            table(outcome);
        }
        files.put(chart + ".svg", Chart.of(shown, Figure.RATE));
        chart(chart, "calls per second");
        paragraph(explanation);
    }

    /** The first load of a scenario. */
    private Optional<ScenarioResult> outcome(String name) {
        return results.outcomes().stream()
                .filter(outcome -> outcome.scenario().equals(name))
                .findFirst();
    }

    /** As users call it. */
    private static ScenarioResult shown(ScenarioResult outcome) {
        String title = switch (outcome.scenario()) {
            case "sync-tomcat" -> "Java SDK, sync server in Tomcat";
            case "immediate-jetty" -> "Java SDK, immediate execution in Jetty";
            case "spring" -> "Spring Boot";
            case "others" -> "other makers";
            case "gateway" -> "gateways";
            case "store" -> "RocksDB";
            case "redis" -> "Redis";
            case "growth" -> "sessions in memory";
            case "parked" -> "sessions on RocksDB";
            default -> outcome.scenario();
        };
        boolean inMemory =
                outcome.scenario().equals("store") || outcome.scenario().equals("redis");
        List<Contestant> contestants = outcome.contestants().stream()
                .filter(contestant -> !HIDDEN.contains(contestant.name()))
                .map(contestant -> new Contestant(
                        inMemory && contestant.name().equals("holdfast")
                                ? "Holdfast in memory"
                                : named(contestant.name()),
                        contestant.warmUp(),
                        contestant.samples()))
                .toList();
        return new ScenarioResult(title, outcome.load(), contestants, List.of());
    }

    private void table(ScenarioResult outcome) {
        line("| " + outcome.scenario() + ": " + outcome.load()
                + " | calls/s | first over this | p50 ms | p99 ms | CPU us/call | KB/call | RSS MB |");
        line("|---|---:|---:|---:|---:|---:|---:|---:|");
        Contestant first = outcome.contestants().get(0);
        for (Contestant contestant : outcome.contestants()) {
            Spread ratio = first.beside(contestant, Goal.atLeast(0, Figure.RATE, contestant.name()));
            line("| " + contestant.name() + " | " + Table.cell(contestant.spread(Figure.RATE)) + " | "
                    + (contestant.equals(first) ? "" : spread(ratio))
                    + cells(contestant, Figure.P50, Figure.P99, Figure.CPU, Figure.ALLOCATED, Figure.RESIDENT) + " |");
        }
        line("");
    }

    private static String spread(Spread ratio) {
        return String.format(Locale.ROOT, "%.2f (%.2f-%.2f)", ratio.median(), ratio.least(), ratio.most());
    }

    private static String cells(Contestant contestant, Figure... figures) {
        StringBuilder cells = new StringBuilder();
        for (Figure figure : figures) {
            Spread spread = contestant.spread(figure);
            cells.append(" | ").append(spread.known() ? Table.number(spread.median()) : "");
        }
        return cells.toString();
    }

    private static double median(Contestant contestant, Figure figure) {
        return contestant.spread(figure).median();
    }

    private Stream<Weight> weighed(String what) {
        return results.weights().stream().filter(weight -> weight.what().equals(what));
    }

    private static String named(String server) {
        return NAMES.getOrDefault(server, server);
    }

    private void chart(String name, String title) {
        line("![" + title + "](" + name + ".svg)\n");
    }

    private void heading(String heading) {
        line(heading + "\n");
    }

    private void line(String line) {
        text.append(line).append('\n');
    }

    /** Wrapped as pages are. */
    private void paragraph(String words) {
        int column = 0;
        for (String word : words.split(" ", -1)) {
            if (column > 0 && column + 1 + word.length() > COLUMNS) {
                text.append('\n');
                column = 0;
            } else if (column > 0) {
                text.append(' ');
                column++;
            }
            text.append(word);
            column += word.length();
        }
        text.append("\n\n");
    }
}
