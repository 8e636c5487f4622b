package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Args;
import dev.holdfast.benchmarks.report.Chart;
import dev.holdfast.benchmarks.report.Results;
import dev.holdfast.benchmarks.report.ResultsFile;
import dev.holdfast.benchmarks.report.Table;
import dev.holdfast.benchmarks.result.Figure;
import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Runs scenarios, prints their table, and writes JSON and a chart. Arguments: {@code rounds}, {@code seconds} (of a round), {@code
 * warmup} (the most seconds of a server), then names of scenarios, and {@code weights}; all scenarios if none is named. System properties: {@code root},
 * the source tree; {@code earlier}, that of an earlier build to be measured beside this one, if any; {@code results}, where files
 * are written. Ends with 1 if a goal of {@code check} is missed.
 */
final class CompareMain {
    private static final String CHECK = "check";
    private static final String WEIGHTS = "weights";

    private CompareMain() {}

    public static void main(String[] args) throws Exception {
        // servers end with this process, however it ends
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(() -> ProcessHandle.current().descendants().forEach(ProcessHandle::destroy)));
        Args options = Args.parse(args);
        Path scratch = Files.createTempDirectory("benchmarks");
        Settings settings = new Settings(
                options.number("rounds", 7),
                Duration.ofSeconds(options.number("seconds", 3)),
                Duration.ofSeconds(options.number("warmup", 60)),
                scratch);
        ComparedServers servers = new ComparedServers(
                Path.of(System.getProperty("root")), System.getProperty("java.class.path"), scratch);
        Scenarios scenarios = new Scenarios(servers, scratch);
        List<Scenario> usual = usual(scenarios, scratch);
        List<Scenario> chosen = chosen(usual, scenarios.check(), Set.copyOf(options.names()));
        ResultsFile file = new ResultsFile(Path.of(System.getProperty("results")));
        Results results = Results.begin(String.join(" ", args));
        for (Scenario scenario : chosen) {
            System.err.println(scenario.name() + ": " + scenario.title());
            List<ScenarioResult> found = scenario.run(settings);
            found.forEach(outcome -> System.out.println(Table.of(outcome)));
            results = results.and(found, List.of());
            write(file, results);
        }
        if (options.names().contains(WEIGHTS)) {
            results = results.and(List.of(), new Weighing(servers, scratch).run());
            write(file, results);
        }
        if (options.names().contains(CHECK) && !results.outcomes().stream().allMatch(ScenarioResult::reached)) {
            System.exit(1);
        }
    }

    /** After each scenario, so that an interrupted run leaves what it has found. */
    private static void write(ResultsFile file, Results results) throws IOException {
        file.write(results);
        Files.writeString(file.beside(".svg"), Chart.of(results.outcomes(), Figure.RATE));
        Files.writeString(file.beside(".md"), Table.markdown(results.outcomes()));
    }

    private static List<Scenario> usual(Scenarios scenarios, Path scratch) {
        String earlier = System.getProperty("earlier");
        if (earlier == null) {
            return scenarios.all();
        }
        Path target = Path.of(earlier).resolve("benchmarks/target");
        String classes = target.resolve("holdfast-benchmarks.jar") + File.pathSeparator + target.resolve("lib/*");
        return scenarios.beside(new ComparedServers(Path.of(earlier), classes, scratch));
    }

    private static List<Scenario> chosen(List<Scenario> usual, Scenario check, Set<String> names) {
        List<Scenario> known = new ArrayList<>(usual);
        known.add(check);
        for (String name : names) {
            if (!name.equals(WEIGHTS)
                    && known.stream().noneMatch(scenario -> scenario.name().equals(name))) {
                throw new IllegalArgumentException("no scenario " + name + "; there are "
                        + known.stream().map(Scenario::name).toList());
            }
        }
        return names.isEmpty()
                ? usual
                : known.stream()
                        .filter(scenario -> names.contains(scenario.name()))
                        .toList();
    }
}
