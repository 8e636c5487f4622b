package dev.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Simulated lives of a cluster, as many as {@code -Dholdfast.clusterlives=...} says. A life that goes wrong names its seed;
 * {@code -Dholdfast.seed=...} replays it and prints its steps.
 */
class ClusterSimulationTest {
    private static final int LIVES = Integer.getInteger("holdfast.clusterlives", 200);

    @Test
    void nothingIsLostDoubledOrReorderedInAnyLifeOfACluster() {
        Long only = Long.getLong("holdfast.seed");
        long first = only == null ? 1 : only;
        long last = only == null ? LIVES : only;
        for (long seed = first; seed <= last; seed++) {
            List<String> trace = new ArrayList<>();
            try {
                new ClusterSimulation(seed, trace).run();
            } catch (RuntimeException | AssertionError wrong) {
                throw new AssertionError(
                        "seed " + seed + ": " + wrong.getMessage() + "; replay it with -Dholdfast.seed=" + seed + "\n"
                                + String.join("\n", trace),
                        wrong);
            }
        }
    }
}
