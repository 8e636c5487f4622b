package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.result.Weight;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a run has found.
 *
 * @param machine where, and when it began
 * @param arguments what was asked for
 * @param seconds how long it has taken
 * @param outcomes of scenarios
 * @param weights of sessions
 */
public record Results(
        Machine machine, String arguments, long seconds, List<ScenarioResult> outcomes, List<Weight> weights) {

    /** Nothing yet. */
    public static Results begin(String arguments) throws IOException {
        return new Results(Machine.here(), arguments, 0, List.of(), List.of());
    }

    /** With what was found now. */
    public Results and(List<ScenarioResult> moreOutcomes, List<Weight> moreWeights) {
        long taken =
                Duration.between(Instant.parse(machine.time()), Instant.now()).toSeconds();
        return new Results(machine, arguments, taken, joined(outcomes, moreOutcomes), joined(weights, moreWeights));
    }

    private static <T> List<T> joined(List<T> some, List<T> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }
}
