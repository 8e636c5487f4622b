package dev.holdfast.benchmarks.result;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a scenario gave under one load.
 *
 * @param scenario its name
 * @param load the name of the load, and how many connections it has
 * @param contestants the first of them is what goals are about
 * @param verdicts how the goals stand
 */
public record ScenarioResult(String scenario, String load, List<Contestant> contestants, List<Verdict> verdicts) {

    /** The name of what no server with the SDK can beat: the floor, and the SDK's own share of a call. */
    public static final String LIMIT = "limit";

    /**
     * Whether a goal is reached.
     *
     * @param measured the ratio, or the difference, that the goal is about
     */
    public record Verdict(Goal goal, Spread measured, boolean reached) {}

    /** Adds the limit where floor and SDK are among the contestants, and judges. */
    public static ScenarioResult of(String scenario, String load, List<Contestant> measured, List<Goal> goals) {
        List<Contestant> all = new ArrayList<>(measured);
        Optional<Contestant> floor = named(measured, "floor");
        Optional<Contestant> sdk = named(measured, "sdk");
        if (floor.isPresent() && sdk.isPresent()) {
            all.add(floor.get().plus(sdk.get(), LIMIT));
        }
        List<Verdict> verdicts = goals.stream()
                .map(goal -> {
                    Contestant other = named(all, goal.other())
                            .orElseThrow(() -> new IllegalArgumentException("no contestant " + goal.other()));
                    Spread found = all.get(0).beside(other, goal);
                    return new Verdict(goal, found, goal.reachedBy(found.median()));
                })
                .toList();
        return new ScenarioResult(scenario, load, List.copyOf(all), verdicts);
    }

    private static Optional<Contestant> named(List<Contestant> all, String name) {
        return all.stream().filter(one -> one.name().equals(name)).findFirst();
    }

    public boolean reached() {
        return verdicts.stream().allMatch(Verdict::reached)
                && contestants.stream().allMatch(one -> one.errors() == 0);
    }
}
