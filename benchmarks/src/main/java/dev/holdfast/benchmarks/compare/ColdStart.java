package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.load.Workload;
import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.Goal;
import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How many calls a server answers in the first seconds of its process, one server at a time, each started anew in each round.
 *
 * @param seconds since the process was started
 */
record ColdStart(String name, String title, List<Peer> peers, Workload workload, Duration seconds, List<Goal> goals)
        implements Scenario {

    /** A start takes long: fewer rounds than elsewhere tell enough. */
    private static final int MOST_ROUNDS = 5;

    @Override
    public List<ScenarioResult> run(Settings settings) throws IOException, InterruptedException {
        List<List<Sample>> samples = new ArrayList<>();
        peers.forEach(peer -> samples.add(new ArrayList<>()));
        for (int round = 1; round <= Math.min(MOST_ROUNDS, settings.rounds()); round++) {
            for (int i = 0; i < peers.size(); i++) {
                Sample sample = start(peers.get(i), settings);
                samples.get(i).add(sample);
                System.err.printf(
                        "%s, round %d  %-14s %s%n", name, round, peers.get(i).name(), sample.line());
            }
        }
        List<Contestant> contestants = new ArrayList<>();
        for (int i = 0; i < peers.size(); i++) {
            contestants.add(new Contestant(peers.get(i).name(), "none", samples.get(i)));
        }
        String load = workload.name() + ", the first " + seconds.toSeconds() + " s, " + workload.connections()
                + " connections";
        return List.of(ScenarioResult.of(name, load, contestants, goals));
    }

    private Sample start(Peer peer, Settings settings) throws IOException, InterruptedException {
        try (ServerProcess server =
                        ServerProcess.start(peer, settings.scratch()).ready();
                Load load = server.load(workload)) {
            Duration left = seconds.minusNanos(server.age());
            return load.run(left).over((double) left.toNanos() / seconds.toNanos());
        }
    }
}
