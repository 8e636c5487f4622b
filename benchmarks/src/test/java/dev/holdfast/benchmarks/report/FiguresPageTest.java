package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Weight;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FiguresPageTest {
    private static final Path PAGE = Path.of("page");

    @TempDir
    Path folder;

    /** No number of it was written by hand. */
    @Test
    void theCommittedPageIsWhatItsResultsGive() throws IOException {
        Map<String, String> files = FiguresPage.of(new ResultsFile(PAGE.resolve("results.json")).read());
        for (Map.Entry<String, String> file : files.entrySet()) {
            assertThat(Files.readString(PAGE.resolve(file.getKey())))
                    .as(file.getKey() + ": benchmarks/run page --from benchmarks/page writes it again")
                    .isEqualTo(file.getValue());
        }
        try (var there = Files.list(PAGE)) {
            assertThat(there.map(file -> file.getFileName().toString()).filter(name -> !name.equals("results.json")))
                    .containsExactlyInAnyOrderElementsOf(files.keySet());
        }
    }

    @Test
    void aPageOfResultsThatWereReadIsThatOfThoseThatWereWritten() throws IOException {
        Results results = results(
                List.of(outcome("gateway", contestant("holdfast", 1000, 20), contestant("supergateway", 250, 80))),
                List.of(new Weight("holdfast", "heap, session", 10, 3072)));
        ResultsFile file = new ResultsFile(folder.resolve("results.json"));
        file.write(results);
        assertThat(FiguresPage.of(file.read())).isEqualTo(FiguresPage.of(results));
    }

    @Test
    void aRowTellsHowManyTimesItsCallsTheFirstMakes() throws IOException {
        assertThat(page(outcome("gateway", contestant("holdfast", 1000, 20), contestant("supergateway", 250, 80))))
                .contains("| supergateway | 250 (250-250) | 4.00 (4.00-4.00) |");
    }

    @Test
    void theCapacityOfOneRedisEndsWhereItsThreadIsFull() throws IOException {
        String page = page(outcome("nodes", contestant("1 node", 5000, 100), contestant("1 node: Redis", 5000, 20)));
        assertThat(page).contains("| 2 | 40,000 | nodes |\n| 4 | 50,000 | Redis |\n\n");
        // Where a line ends depends on the name of the machine's kernel and the number of its processors.
        assertThat(page.replace('\n', ' '))
                .contains("full at 50,000 calls/s")
                .contains("takes 5.0 processors of nodes");
    }

    @Test
    void aMillionSessionsWeighAMillionTimesWhatOneDoes() throws IOException {
        Results results = results(List.of(), List.of(new Weight("redis", "memory of Redis, session", 3000, 1 << 10)));
        assertThat(FiguresPage.of(results).get("README.md"))
                .contains("| memory of Redis: sessions that have called nothing | 1.00 KB | 0.95 GB |");
    }

    @Test
    void whatWasNotMeasuredIsLeftOut() throws IOException {
        assertThat(page(outcome("gateway", contestant("holdfast", 1000, 20))))
                .doesNotContain("million")
                .doesNotContain("nodes on one")
                .doesNotContain("NaN");
    }

    private static String page(ScenarioResult outcome) throws IOException {
        return Objects.requireNonNull(
                FiguresPage.of(results(List.of(outcome), List.of())).get("README.md"));
    }

    private static Results results(List<ScenarioResult> outcomes, List<Weight> weights) throws IOException {
        return Results.begin("rounds=1").and(outcomes, weights);
    }

    private static ScenarioResult outcome(String scenario, Contestant... contestants) {
        return ScenarioResult.of(scenario, "echo, 16 connections", List.of(contestants), List.of());
    }

    private static Contestant contestant(String name, double rate, double cpu) {
        return new Contestant(name, "3 s", List.of(new Sample(rate, 1, 2, cpu, Double.NaN, 100, 0.1, 0)));
    }
}
