package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.Load;
import dev.holdfast.benchmarks.load.Meter;
import dev.holdfast.benchmarks.load.Sample;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.load.Usage;
import dev.holdfast.benchmarks.load.Workload;
import dev.holdfast.benchmarks.result.Contestant;
import dev.holdfast.benchmarks.result.ScenarioResult;
import dev.holdfast.benchmarks.server.OwnRedis;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Nodes that share one Redis: all are running, and one, two, and so on up to all of them are called, with as many connections in all.
 * Redis has a row of its own beside each, with its processor time per call.
 *
 * @param most how many nodes
 * @param node a node on the Redis of this address
 * @param workload the load, over all nodes that are called
 */
record Nodes(String name, String title, int most, Function<String, Peer> node, Workload workload) implements Scenario {

    @Override
    public List<ScenarioResult> run(Settings settings) throws IOException, InterruptedException {
        List<ServerProcess> servers = new ArrayList<>();
        List<Called> calls = new ArrayList<>();
        try (OwnRedis redis = OwnRedis.start(settings.scratch().resolve(name))) {
            try {
                Peer peer = node.apply(redis.url());
                for (int i = 0; i < most; i++) {
                    servers.add(ServerProcess.start(peer, settings.scratch()).ready());
                }
                for (int count = 1; count <= most; count++) {
                    calls.add(new Called(servers.subList(0, count), redis, workload));
                }
                return List.of(measure(calls, settings));
            } finally {
                for (Called called : calls) {
                    called.load.close();
                }
                for (ServerProcess server : servers) {
                    server.close();
                }
            }
        }
    }

    private ScenarioResult measure(List<Called> calls, Settings settings) throws IOException, InterruptedException {
        // a load at all nodes warms each of them, with its share
        Load all = calls.get(most - 1).load;
        WarmUp warmUp = new WarmUp(all, settings.mostWarmUp().multipliedBy(most));
        while (!warmUp.over()) {
            tell("warm-up", most, warmUp.slice());
        }
        List<Integer> order = new ArrayList<>(IntStream.range(0, most).boxed().toList());
        for (int round = 1; round <= settings.rounds(); round++) {
            for (int i : order) {
                tell("round " + round, i + 1, calls.get(i).round(settings));
            }
            Collections.rotate(order, 1);
        }
        String warm = warmUp.seconds() + " s" + (warmUp.steady() ? "" : ", not steady");
        List<Contestant> contestants = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            String nodes = i == 0 ? "1 node" : i + 1 + " nodes";
            contestants.add(new Contestant(nodes, warm, calls.get(i).nodes));
            contestants.add(new Contestant(nodes + ": Redis", warm, calls.get(i).redis));
        }
        String load = workload.name() + ", " + workload.connections() + " connections";
        return ScenarioResult.of(name, load, contestants, List.of());
    }

    private void tell(String when, int nodes, Sample sample) {
        System.err.printf("%s, %s, %-8s %d called   %s%n", name, workload.name(), when, nodes, sample.line());
    }

    /** Some nodes that are called. */
    private static final class Called {
        private final Load load;
        private final List<Usage> nodeUsages = new ArrayList<>();
        private final List<Usage> redisUsages = new ArrayList<>();
        private final List<Sample> nodes = new ArrayList<>();
        private final List<Sample> redis = new ArrayList<>();

        Called(List<ServerProcess> servers, OwnRedis redis, Workload workload)
                throws IOException, InterruptedException {
            List<Target> targets = servers.stream().map(ServerProcess::target).toList();
            Meter ofRedis = new ProcessMeter(redis.process(), Peer.Platform.NATIVE);
            this.load = new HttpLoad(targets, workload, () -> {
                long cpu = 0;
                double allocated = 0;
                long resident = 0;
                for (ServerProcess server : servers) {
                    Usage usage = server.meter().usage();
                    cpu += usage.cpu();
                    allocated += usage.allocated();
                    resident += usage.resident();
                }
                Usage usage = new Usage(cpu, allocated, resident);
                nodeUsages.add(usage);
                redisUsages.add(ofRedis.usage());
                return usage;
            });
        }

        Sample round(Settings settings) throws IOException, InterruptedException {
            nodeUsages.clear();
            redisUsages.clear();
            Sample sample = load.run(settings.round());
            nodes.add(sample);
            redis.add(sample.usedBy(nodeUsages, redisUsages));
            return sample;
        }
    }
}
