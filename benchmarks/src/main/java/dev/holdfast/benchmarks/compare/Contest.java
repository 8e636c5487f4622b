package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.load.Workload;
import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.Goal;
import dev.holdfast.benchmarks.result.ScenarioResult;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Servers beside each other under the same loads: all are running, each is warm, and one after the other has a round.
 *
 * @param peers the first is what goals are about
 * @param trials the loads, one after the other on the same servers
 */
record Contest(String name, String title, List<Peer> peers, List<Trial> trials) implements Scenario {

    /** A load, and what is asked of the first peer under it. */
    record Trial(Workload workload, List<Goal> goals) {}

    @Override
    public List<ScenarioResult> run(Settings settings) throws IOException, InterruptedException {
        List<ServerProcess> servers = new ArrayList<>();
        try {
            // the last first: a gateway answers only where the server behind it does, which stands behind it here too
            for (int i = peers.size() - 1; i >= 0; i--) {
                servers.add(
                        0, ServerProcess.start(peers.get(i), settings.scratch()).ready());
            }
            List<ScenarioResult> outcomes = new ArrayList<>();
            for (Trial trial : trials) {
                outcomes.add(run(trial, servers, settings));
            }
            return outcomes;
        } finally {
            for (ServerProcess server : servers) {
                server.close();
            }
        }
    }

    private ScenarioResult run(Trial trial, List<ServerProcess> servers, Settings settings)
            throws IOException, InterruptedException {
        List<Load> loads = new ArrayList<>();
        try {
            for (ServerProcess server : servers) {
                loads.add(server.load(trial.workload()));
            }
            List<WarmUp> warmUps = warmUp(trial, loads, settings);
            List<List<Sample>> samples = rounds(trial, loads, settings);
            List<Contestant> contestants = new ArrayList<>();
            for (int i = 0; i < peers.size(); i++) {
                WarmUp warmUp = warmUps.get(i);
                contestants.add(new Contestant(
                        peers.get(i).name(),
                        warmUp.seconds() + " s" + (warmUp.steady() ? "" : ", not steady"),
                        samples.get(i)));
            }
            String load = trial.workload().name() + ", " + trial.workload().connections() + " connections";
            return ScenarioResult.of(name, load, contestants, trial.goals());
        } finally {
            for (Load load : loads) {
                load.close();
            }
        }
    }

    /** In turns too, so that no server rests for long before its first round. */
    private List<WarmUp> warmUp(Trial trial, List<Load> loads, Settings settings)
            throws IOException, InterruptedException {
        List<WarmUp> warmUps = loads.stream()
                .map(load -> new WarmUp(load, settings.mostWarmUp()))
                .toList();
        while (!warmUps.stream().allMatch(WarmUp::over)) {
            for (int i = 0; i < warmUps.size(); i++) {
                if (!warmUps.get(i).over()) {
                    tell(trial, "warm-up", peers.get(i), warmUps.get(i).slice());
                }
            }
        }
        return warmUps;
    }

    /** The order is turned by one in each round: none always follows the same other one. */
    private List<List<Sample>> rounds(Trial trial, List<Load> loads, Settings settings)
            throws IOException, InterruptedException {
        List<List<Sample>> samples = new ArrayList<>();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < loads.size(); i++) {
            samples.add(new ArrayList<>());
            order.add(i);
        }
        for (int round = 1; round <= settings.rounds(); round++) {
            for (int i : order) {
                Sample sample = loads.get(i).run(settings.round());
                samples.get(i).add(sample);
                tell(trial, "round " + round, peers.get(i), sample);
            }
            Collections.rotate(order, 1);
        }
        return samples;
    }

    private void tell(Trial trial, String when, Peer peer, Sample sample) {
        System.err.printf("%s, %s, %-8s %-14s %s%n", name, trial.workload().name(), when, peer.name(), sample.line());
    }
}
