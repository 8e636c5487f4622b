package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.fail;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Simulated lives of an engine, as many as {@code -Dholdfast.lives=...} says. A life that goes wrong names its seed; {@code -Dholdfast.seed=...} replays it and prints its steps.
 */
class SimulationTest {
    private static final int LIVES = Integer.getInteger("holdfast.lives", 300);

    @Test
    void nothingIsLostDoubledReorderedOrLeftBehindInAnyLife() {
        Long only = Long.getLong("holdfast.seed");
        if (only != null) {
            System.out.println(replay(only));
            new Simulation(only, Optional.empty()).run();
            return;
        }
        for (long seed = 1; seed <= LIVES; seed++) {
            try {
                new Simulation(seed, Optional.empty()).run();
            } catch (RuntimeException | AssertionError wrong) {
                fail(
                        "seed " + seed + ": " + wrong.getMessage() + "; replay it with -Dholdfast.seed=" + seed + "\n"
                                + replay(seed),
                        wrong);
            }
        }
    }

    private static String replay(long seed) {
        List<String> trace = new ArrayList<>();
        try {
            new Simulation(seed, Optional.of(trace)).run();
        } catch (RuntimeException | AssertionError wrong) {
            trace.add(wrong.toString());
        }
        return String.join("\n", trace);
    }
}
