package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.IOException;
import java.util.List;

/** Something that is measured, under a name by which it can be asked for. */
interface Scenario {
    String name();

    /** What it shows, in one line. */
    String title();

    List<ScenarioResult> run(Settings settings) throws IOException, InterruptedException;
}
