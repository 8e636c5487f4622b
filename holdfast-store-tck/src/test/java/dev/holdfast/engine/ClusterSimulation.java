package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * One seeded life of a cluster: its nodes die, stand still for a while, lose the store for a while and come back as others, answers of
 * the store are lost, wall clocks differ, and clients post, listen, break off and come back wherever chance sends them. At the end
 * nothing that was acknowledged is lost, nothing came twice or out of order, no call ran twice that must not, or after it was cancelled,
 * and of each stream there was one writer. What has become of a call of which something is noted is found at each node. A call that is cancelled while it is between two nodes, or its node stands still, may begin,
 * and is told then. Every backend has heard of its client before its first call, and what that has set before a call, and one that
 * exists once is there once. The same seed gives the same life.
 */
final class ClusterSimulation {
    private static final int STEPS = 120;
    private static final int NODES = 3;
    private static final int ROUNDS = 40;

    final Random random;
    final VirtualTime time = new VirtualTime();
    final JudgingCluster shared = new JudgingCluster(time);
    final List<ClusterSimNode> nodes = new ArrayList<>();
    private final List<ClusterSimClient> clients = new ArrayList<>();
    private final Kind kind;
    private final Map<RequestId, Integer> runs = new HashMap<>();
    private final Map<RequestId, Integer> levels = new HashMap<>();
    private final List<RequestId> refused = new ArrayList<>();
    /** Those whose cancellation has reached every inbox, and those of which clients were told so since the last step. */
    private final Set<RequestId> cancelled = new HashSet<>();

    private final Set<RequestId> lately = new HashSet<>();
    /** Those whose cancellation may have passed them on their way, and where they came in. */
    private final Map<RequestId, ClusterSimNode> passed = new HashMap<>();

    private final Set<RequestId> answered = new HashSet<>();
    private final List<String> trace;
    private int counter;
    private int processes;

    /**
     * What the nodes serve.
     *
     * @param harmless whether calls may be run again
     * @param once whether a session has one backend in the whole cluster
     */
    record Kind(boolean harmless, boolean once) {}

    /**
     * @param trace where the steps are written
     */
    ClusterSimulation(long seed, List<String> trace) {
        this.random = new Random(seed);
        this.trace = trace;
        this.kind = new Kind(seed % 2 == 0, seed % 4 >= 2);
        for (int i = 0; i < NODES; i++) {
            nodes.add(new ClusterSimNode(this, processes++, kind));
        }
        settle();
    }

    void run() {
        for (int i = 0; i < 1 + random.nextInt(2); i++) {
            clients.add(new ClusterSimClient(this, node()));
        }
        for (int i = 0; i < STEPS; i++) {
            step();
            settle();
            cancelled.addAll(lately);
            lately.clear();
        }
        finish();
    }

    private void step() {
        ClusterSimNode node = node();
        ClusterSimClient client = clients.get(random.nextInt(clients.size()));
        if (node.store.frozen) {
            standsStill(node);
            return;
        }
        switch (random.nextInt(28)) {
            case 0 -> replace(node);
            case 1 -> {
                trace(node + " loses the store");
                node.store.shut();
            }
            case 2, 3 -> nodes.stream().filter(each -> !each.store.frozen).forEach(each -> each.store.open());
            case 4 -> {
                trace(node + " loses an answer");
                node.store.decreeSendings(
                        random.nextBoolean() ? FlakyCluster.Fate.UNANSWERED : FlakyCluster.Fate.LOST,
                        FlakyCluster.Fate.DONE,
                        FlakyCluster.Fate.UNANSWERED);
                node.store.decree(
                        random.nextBoolean() ? FlakyCluster.Fate.UNANSWERED : FlakyCluster.Fate.LOST,
                        FlakyCluster.Fate.DONE,
                        FlakyCluster.Fate.UNANSWERED);
            }
            case 5 -> pass(Duration.ofMillis(random.nextInt(5_000)));
            case 6, 7 -> pass(Duration.ofMillis(random.nextInt(300)));
            case 8, 9, 10 -> client.post(node);
            case 11, 12 -> client.comeBack(node);
            case 13 -> client.breakOff();
            case 14, 15 -> client.pump();
            case 16, 17 -> node.respond();
            case 18 -> client.cancel(node);
            case 19 -> {
                trace(node + " loses the answer to a join or a token");
                node.store.losesJoin = random.nextBoolean();
                node.store.losesToken = !node.store.losesJoin;
            }
            case 20 -> {
                trace(node + " stands still");
                node.store.freeze();
            }
            case 21 -> client.answer(node);
            case 22 -> client.note();
            case 23 -> client.look(node);
            default -> node.say();
        }
    }

    private void standsStill(ClusterSimNode node) {
        switch (random.nextInt(12)) {
            case 0 -> replace(node);
            case 1, 2 -> {
                trace(node + " goes on");
                node.store.thaw();
            }
            case 3, 4 -> {
                trace(node + " goes on, and hears first what it had asked");
                node.store.open();
                node.store.thaw();
            }
            default -> pass(Duration.ofMillis(random.nextInt(1_000)));
        }
    }

    /** Its process dies, and another one takes its place. */
    private void replace(ClusterSimNode node) {
        trace(node + " dies");
        clients.forEach(client -> client.died(node));
        node.die();
        nodes.set(nodes.indexOf(node), new ClusterSimNode(this, processes++, kind));
    }

    /** Everybody is well again, and every client comes back until it has everything. */
    private void finish() {
        nodes.forEach(node -> {
            node.store.thaw();
            node.store.losesJoin = false;
            node.store.losesToken = false;
        });
        pass(ClusterBed.LEASE.multipliedBy(3));
        nodes.forEach(ClusterSimNode::checkCancelled);
        for (int round = 0; round < ROUNDS && clients.stream().anyMatch(client -> !client.complete()); round++) {
            nodes.forEach(ClusterSimNode::respondAll);
            clients.forEach(client -> client.comeBack(node()));
            settle();
            clients.forEach(ClusterSimClient::pump);
            pass(Duration.ofMillis(500));
            clients.forEach(ClusterSimClient::pump);
            clients.forEach(ClusterSimClient::breakOff);
        }
        for (int round = 0; round < ROUNDS && !clients.stream().allMatch(client -> client.foundAt(nodes)); round++) {
            clients.forEach(client -> nodes.forEach(client::look));
            pass(Duration.ofMillis(500));
        }
        clients.forEach(ClusterSimClient::check);
        assertThat(clients).as("what was noted is found at each node").allMatch(client -> client.foundAt(nodes));
        if (kind.once()) {
            for (int round = 0; round < ROUNDS && !clients.stream().allMatch(ClusterSimClient::listens); round++) {
                clients.forEach(client -> client.listen(node()));
                pass(Duration.ofMillis(500));
            }
            pass(ClusterBed.LEASE.multipliedBy(3));
            assertThat(clients)
                    .allSatisfy(client -> assertThat(nodes.stream()
                                    .mapToLong(node -> node.backends(client.name))
                                    .sum())
                            .as("backends of a session that is listened to")
                            .isOne());
        }
        assertThat(runs).as("runs of calls that were refused").doesNotContainKeys(refused.toArray(RequestId[]::new));
        if (!kind.harmless()) {
            assertThat(runs)
                    .allSatisfy((call, times) ->
                            assertThat(times).as("runs of %s", call).isOne());
        }
    }

    /** A node that chance has chosen. */
    ClusterSimNode node() {
        return nodes.get(random.nextInt(nodes.size()));
    }

    /** A client has posted a call, and knows that this is the level of its log. */
    void posted(RequestId call, int level) {
        levels.put(call, level);
    }

    /** The level of its client's log that a call must find at least. */
    int levelFor(RequestId call) {
        return levels.getOrDefault(call, 0);
    }

    /** A backend was called. */
    void ran(RequestId call) {
        runs.merge(call, 1, Integer::sum);
        if (cancelled.contains(call) && !kind.harmless()) {
            shared.wrong("call " + call + " runs though it is cancelled");
        }
    }

    /** A client was told that its call is cancelled. */
    void cancelled(RequestId call, ClusterSimNode posted, ClusterSimNode at) {
        boolean waits = nodes.stream().anyMatch(node -> node.store.frozen);
        if (waits || (kind.once() && posted != at)) {
            passed.put(call, posted);
        } else {
            lately.add(call);
        }
    }

    /** Whether a call must have been told of its cancellation by now. */
    boolean mustBeTold(RequestId call) {
        return !kind.harmless() && passed.containsKey(call) && nodes.contains(passed.get(call));
    }

    /** A client was told that its call does not run. */
    void refused(RequestId call) {
        trace("call " + call + " is refused");
        refused.add(call);
    }

    /** A backend got the answer to what it has asked. */
    void answered(RequestId question) {
        if (!answered.add(question)) {
            shared.wrong("the answer to " + question + " came twice");
        }
    }

    /** A number that nobody else gets. */
    int next() {
        return ++counter;
    }

    void settle() {
        time.advance(Duration.ZERO);
    }

    private void pass(Duration duration) {
        trace(duration + " pass");
        time.advance(duration);
    }

    void trace(String what) {
        trace.add(what);
    }

    /** The value of a stage that has one now; the world stands still for nobody. */
    static <T> Optional<T> value(CompletableFuture<T> stage) {
        return stage.isDone() && !stage.isCompletedExceptionally() ? Optional.of(stage.join()) : Optional.empty();
    }
}
