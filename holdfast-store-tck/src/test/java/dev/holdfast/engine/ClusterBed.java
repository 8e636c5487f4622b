package dev.holdfast.engine;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Finding;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.MemoryCluster;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** Several engines over one store, each with a backend of its own, in one virtual time. */
final class ClusterBed implements AutoCloseable {
    static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PARK = Duration.ofMinutes(10);

    final VirtualTime time = new VirtualTime();
    final MemoryCluster shared = new MemoryCluster(time, time);
    final List<Node> nodes = new ArrayList<>();

    /** The client's side of a call that was accepted, which is handed to its backend. */
    Connection connected(CompletionStage<Call.Outcome> outcome) {
        Call call = TestBed.accepted(outcome);
        Connection connection = new Connection(call.reader().orElseThrow());
        call.dispatch();
        settle();
        return connection;
    }

    /** One of them. */
    final class Node {
        final TestBackend backend = new TestBackend();
        final TestBed.News news = new TestBed.News();
        final FlakyCluster store = new FlakyCluster(shared);
        final SessionEngine engine;
        /** Where it runs what may block. */
        Executor executor = Runnable::run;

        private Node(int number, Kind kind, Consumer<FlakyCluster> network) {
            network.accept(store);
            backend.once = kind.once;
            backend.most = kind.connections;
            backend.joining = number > 0;
            engine = SessionEngine.builder(backend, Wire.MESSAGES)
                    .store(store)
                    .clock(time)
                    .wallClock(InstantSource.offset(time, kind.ahead))
                    .scheduler(store.scheduler(time))
                    .listener(news)
                    .executor(task -> executor.execute(task))
                    .nodeName("n" + number)
                    .lease(LEASE)
                    .parkAfter(kind.park)
                    .nodeLimits(kind.limits)
                    .random(new Random(number))
                    .build()
                    .start();
        }

        Session open() {
            return open("");
        }

        Session open(String principal) {
            return ((Opening.Opened) tryToOpen(principal)).session();
        }

        Opening tryToOpen(String principal) {
            Opening opening = TestBed.now(engine.open(Wire.initialize(), principal, TestBed.LIFETIME));
            settle();
            return opening;
        }

        Session find(Session session) {
            return find(session, "");
        }

        Session find(Session session, String principal) {
            Session found = ((Finding.Found) TestBed.now(engine.find(session.id(), principal))).session();
            settle();
            return found;
        }

        boolean has(Session session) {
            return has(session, "");
        }

        boolean has(Session session, String principal) {
            return TestBed.now(engine.find(session.id(), principal)) instanceof Finding.Found;
        }

        /** Its process is gone, without a word. */
        void die() {
            store.cut();
            backend.died();
        }
    }

    /**
     * What its nodes are.
     *
     * @param once whether a session has one backend in the whole cluster
     * @param connections how many backends a node may have
     * @param ahead how far the clocks of their machines are ahead of that of the store
     */
    private record Kind(boolean once, int connections, Duration park, NodeLimits limits, Duration ahead) {
        private Kind(boolean once, int connections, Duration park, NodeLimits limits) {
            this(once, connections, park, limits, Duration.ZERO);
        }
    }

    private static final Kind USUAL = new Kind(false, Integer.MAX_VALUE, PARK, NodeLimits.DEFAULT);

    ClusterBed(int count) {
        this(count, USUAL);
    }

    /** One whose sessions have one backend each, on one of its nodes. */
    static ClusterBed once(int count) {
        return once(count, Integer.MAX_VALUE);
    }

    /** The same, where each node has no more backends than this. */
    static ClusterBed once(int count, int connections) {
        return new ClusterBed(count, new Kind(true, connections, PARK, NodeLimits.DEFAULT));
    }

    /** The same, with these limits. */
    static ClusterBed once(int count, NodeLimits limits) {
        return new ClusterBed(count, new Kind(true, Integer.MAX_VALUE, PARK, limits));
    }

    /** The same, where sessions leave memory when their clients are away for so long. */
    static ClusterBed once(int count, Duration parkAfter) {
        return new ClusterBed(count, new Kind(true, Integer.MAX_VALUE, parkAfter, NodeLimits.DEFAULT));
    }

    /** One whose sessions leave memory when their clients are away for so long. */
    static ClusterBed parking(int count, Duration after) {
        return new ClusterBed(count, new Kind(false, Integer.MAX_VALUE, after, NodeLimits.DEFAULT));
    }

    /** One whose machines have clocks that are ahead of that of the store, or behind it. */
    static ClusterBed ahead(int count, Duration ahead) {
        return new ClusterBed(count, new Kind(false, Integer.MAX_VALUE, PARK, NodeLimits.DEFAULT, ahead));
    }

    /** One that has these limits. */
    static ClusterBed limited(int count, NodeLimits limits) {
        return new ClusterBed(count, new Kind(false, Integer.MAX_VALUE, PARK, limits));
    }

    /** The same, and whose sessions leave memory when their clients are away for so long. */
    static ClusterBed limited(int count, NodeLimits limits, Duration parkAfter) {
        return new ClusterBed(count, new Kind(false, Integer.MAX_VALUE, parkAfter, limits));
    }

    private ClusterBed(int count, Kind kind) {
        for (int i = 0; i < count; i++) {
            nodes.add(new Node(i, kind, network -> {}));
        }
        settle();
    }

    /** Starts one more, over a network in this state. */
    Node start(Consumer<FlakyCluster> network) {
        Node node = new Node(nodes.size(), USUAL, network);
        nodes.add(node);
        return node;
    }

    Node node(int number) {
        return nodes.get(number);
    }

    /** The value of a stage that has one when hints and messages have arrived. */
    <T> T now(CompletionStage<T> stage) {
        settle();
        return TestBed.now(stage);
    }

    /** Lets hints and messages arrive. */
    void settle() {
        time.advance(Duration.ZERO);
    }

    void pass(Duration duration) {
        time.advance(duration);
    }

    Connection post(Session session, int... ids) {
        CompletionStage<Call.Outcome> outcome = session.call(TestBed.requests(ids));
        settle();
        return connected(outcome);
    }

    Connection listen(Session session) {
        return settled(Connection.resumed(session.listen()));
    }

    Connection resume(Session session, EventId cursor) {
        return settled(Connection.resumed(session.resume(cursor)));
    }

    private Connection settled(Connection connection) {
        settle();
        return connection;
    }

    /** What the client of a connection has, when everything that is on its way has arrived. */
    List<String> read(Connection connection) {
        settle();
        connection.read();
        settle();
        return connection.read();
    }

    /** What the store keeps of a stream, as text. */
    List<String> kept(Session session, StreamId stream) {
        return events(session, stream).stream().map(Wire::text).toList();
    }

    List<Event> events(Session session, StreamId stream) {
        return TestBed.now(shared.read(SessionKey.of(session.id(), ""), stream, 0, Integer.MAX_VALUE));
    }

    List<SharedSessionStore.Member> members(Session session) {
        return TestBed.now(shared.members(SessionKey.of(session.id(), "")));
    }

    /** Whether the store has a session of nobody in particular. */
    boolean stored(Session session) {
        return TestBed.now(shared.look(SessionKey.of(session.id(), ""))).isPresent();
    }

    SessionRecord record(Session session) {
        return TestBed.now(shared.look(SessionKey.of(session.id(), "")))
                .orElseThrow()
                .record();
    }

    @Override
    public void close() {
        List<CompletionStage<Void>> drained = nodes.stream()
                .filter(node -> !node.store.isCut())
                .map(node -> node.engine.drain(Duration.ZERO))
                .toList();
        pass(Duration.ofMinutes(1));
        drained.forEach(TestBed::now);
    }
}
