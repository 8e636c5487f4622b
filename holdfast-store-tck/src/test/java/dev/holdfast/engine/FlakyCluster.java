package dev.holdfast.engine;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The shared store as one node reaches it, over a network that does what the test says. */
final class FlakyCluster implements SharedSessionStore {
    /** What the network does with a question. */
    enum Fate {
        /** It arrives, and so does the answer. */
        DONE,
        /** It does not arrive, which is known at once. */
        LOST,
        /** It does not arrive, for there is no room for it. */
        REFUSED,
        /** It arrives, and its answer does not. */
        UNANSWERED,
        /** It arrives when the test says so, and its answer does not. */
        LATE,
        /** It arrives when what was held back is let go, and so does its answer; of messages only. */
        HELD,
        /** It arrives, and cannot be done, now or ever. */
        UNREADABLE,
        /** Whoever asks it throws an error, as where a class is missing. */
        BROKEN
    }

    /** What may be asked. */
    enum Question {
        CREATE,
        JOIN,
        LOOK,
        MEMBERS,
        READ,
        TOKEN,
        COUNT,
        UNCOUNT,
        FENCE,
        DELETE,
        END,
        SEND
    }

    private final SharedSessionStore store;
    private final Bus bus = new Bus();
    private final Deque<Fate> fates = new ArrayDeque<>();
    private final Deque<Fate> sendings = new ArrayDeque<>();
    /** Every commit that was tried. */
    final List<Append> tried = new ArrayList<>();

    /** What holds back every question that is asked, while it is there. */
    private Optional<CompletableFuture<Void>> gate = Optional.empty();

    private final HeldQuestions held = new HeldQuestions();

    /** What fails, each time that it is asked. */
    private final Set<Question> failing = EnumSet.noneOf(Question.class);

    /** What the store cannot answer, now or ever. */
    private final Set<Question> damaged = EnumSet.noneOf(Question.class);

    private final List<Runnable> late = new ArrayList<>();

    /** Whether messages of other nodes are lost on their way. */
    boolean deaf;

    /** How many listen for hints. */
    int tails;
    /** How often the record was looked at. */
    int looks;
    /** How often a stream was read from its beginning. */
    int readsFromStart;

    /** Of how many bytes the store takes a commit or a message at most. */
    int mostBytes = Integer.MAX_VALUE;

    /** How long it says that an answer may take. */
    Duration answersWithin = Duration.ZERO;

    /** Whether the next inbox cannot be opened. */
    boolean withoutInbox;

    /** Whether the answer to the next join is lost, or to the next change of a token. */
    boolean losesJoin, losesToken;

    /** Whether the next read throws. */
    boolean throwing;

    /** Whether whoever asks for a lease throws an error, as where a class is missing. */
    boolean leasesBreak;

    private boolean cut;

    /** Whether the node stands still, as after SIGSTOP: what falls due is late, and so is what is sent to it. */
    boolean frozen;

    private final List<Runnable> unheard = new ArrayList<>();

    FlakyCluster(SharedSessionStore store) {
        this.store = store;
    }

    /** The node is gone: nothing of it reaches the store, nothing reaches it, and no time passes for it. */
    void cut() {
        cut = true;
    }

    boolean isCut() {
        return cut;
    }

    /** What becomes of the next commits, in order; then all is well again. */
    void decree(Fate... next) {
        fates.addAll(List.of(next));
    }

    /** What becomes of the next messages to other nodes, in order; then all is well again. */
    void decreeSendings(Fate... next) {
        sendings.addAll(List.of(next));
    }

    /** Lets nothing through until {@link #open}: what is asked meanwhile arrives then. */
    void shut() {
        gate = gate.or(() -> Optional.of(new CompletableFuture<>()));
    }

    void open() {
        gate.ifPresent(waiting -> {
            gate = Optional.empty();
            waiting.complete(null);
        });
    }

    /** Lets the node stand still, with all that it asks. */
    void freeze() {
        frozen = true;
        shut();
    }

    /** The node goes on: it hears what was sent to it, and what it has asked arrives. */
    void thaw() {
        frozen = false;
        List<Runnable> heard = List.copyOf(unheard);
        unheard.clear();
        heard.forEach(Runnable::run);
        open();
    }

    /** Holds back one kind of question until {@link #letGo}. */
    void hold(Question question) {
        held.hold(question);
    }

    /** Lets one kind of question arrive, and holds back its answer until {@link #letGo}. */
    void holdAnswers(Question question) {
        held.holdAnswers(question);
    }

    /** Holds back no more of them; those that were held back stay so until {@link #letGo}. */
    void holdNoMore(Question question) {
        held.holdNoMore(question);
    }

    /** What was held back arrives, in the order in which it was asked. */
    void letGo() {
        held.letGo();
    }

    /** Lets one kind of question fail, or succeed again. */
    void fail(Question question, boolean fails) {
        if (fails) {
            failing.add(question);
        } else {
            failing.remove(question);
        }
    }

    /** Lets the store be unable to answer one kind of question, from now on. */
    void damage(Question question) {
        damaged.add(question);
    }

    /** The commits that are late arrive. */
    void arrive() {
        late.forEach(Runnable::run);
        late.clear();
    }

    /** A scheduler whose tasks stop with the node. */
    ScheduledExecutorService scheduler(VirtualTime time) {
        return new MortalScheduler(time, () -> cut, () -> frozen);
    }

    private <T> CompletionStage<T> ask(Supplier<CompletionStage<T>> question) {
        if (cut) {
            return new CompletableFuture<>();
        }
        return gate.<CompletionStage<T>>map(open -> open.thenCompose(done -> ask(question)))
                .orElseGet(() -> question.get()
                        .thenCompose(
                                answer -> cut ? new CompletableFuture<>() : CompletableFuture.completedFuture(answer)));
    }

    private <T> CompletionStage<T> ask(Question kind, Supplier<CompletionStage<T>> question) {
        if (damaged.contains(kind)) {
            return unreadable();
        }
        return failing.contains(kind) ? away() : held.ask(kind, () -> failing.contains(kind) ? away() : ask(question));
    }

    @Override
    public Promise promise() {
        return store.promise();
    }

    @Override
    public Optional<InstantSource> clock() {
        return store.clock();
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return Optional.of(ClusterNodes.sharing(this));
    }

    @Override
    public ClusterBus bus() {
        return bus;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        return ask(Question.CREATE, () -> store.create(key, epoch, record, node));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return ask(() -> store.claim(key, nonce));
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        CompletionStage<Optional<Joined>> joined = ask(Question.JOIN, () -> store.join(key, nonce, node));
        boolean lost = losesJoin;
        losesJoin = false;
        return lost ? joined.thenCompose(answer -> away()) : joined;
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        looks++;
        return ask(Question.LOOK, () -> store.look(key));
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return ask(Question.FENCE, () -> store.fence(key, epoch));
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return ask(Question.MEMBERS, () -> store.members(key));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        tried.add(append);
        if (bytes(append) > mostBytes) {
            return tooLarge();
        }
        Fate fate = fates.isEmpty() ? Fate.DONE : fates.remove();
        if (fate == Fate.LOST) {
            return away();
        }
        if (fate == Fate.UNREADABLE) {
            return unreadable();
        }
        if (fate == Fate.BROKEN) {
            throw new NoClassDefFoundError("expected");
        }
        if (fate == Fate.LATE) {
            late.add(() -> store.commit(key, epoch, number, append));
            return new CompletableFuture<>();
        }
        CompletionStage<Appended> done = ask(() -> store.commit(key, epoch, number, append));
        return fate == Fate.DONE ? done : done.thenCompose(answer -> away());
    }

    private static <T> CompletionStage<T> unreadable() {
        return CompletableFuture.failedFuture(
                new UnreadableSessionException("not what was kept", new IllegalStateException()));
    }

    private static int bytes(Append append) {
        int events =
                append.events().stream().mapToInt(event -> event.bytes().length).sum();
        int calls = append.changes().stream()
                .filter(RecordChange.CallStarted.class::isInstance)
                .map(RecordChange.CallStarted.class::cast)
                .mapToInt(started -> started.extension().length
                        + started.requests().stream()
                                .mapToInt(id -> id.token().length())
                                .sum())
                .sum();
        return events + calls;
    }

    private <T> CompletionStage<T> tooLarge() {
        return ask(() -> CompletableFuture.failedFuture(
                new TooLargeException("more than " + mostBytes, OptionalLong.of(mostBytes))));
    }

    private static <T> CompletionStage<T> away() {
        return CompletableFuture.failedFuture(new UncheckedIOException(new IOException("reset")));
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        boolean lost = losesToken && expected != token;
        losesToken &= !lost;
        CompletionStage<Long> set = ask(Question.TOKEN, () -> store.token(key, epoch, stream, part, expected, token));
        return lost ? set.thenCompose(answer -> away()) : set;
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return ask(Question.COUNT, () -> store.count(principal, key, until, most));
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        return ask(Question.UNCOUNT, () -> store.uncount(principal, key));
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        tails++;
        Tail tail = store.tail(key, () -> {
            if (!cut) {
                hinted.run();
            }
        });
        return () -> {
            tails--;
            tail.close();
        };
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        if (throwing) {
            throwing = false;
            throw new IllegalStateException("no read");
        }
        readsFromStart += after == 0 ? 1 : 0;
        return ask(Question.READ, () -> store.read(key, stream, after, maxBytes));
    }

    @Override
    public CompletionStage<List<Member>> remove(SessionKey key) {
        return ask(Question.DELETE, () -> store.remove(key));
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        return ask(Question.DELETE, () -> store.delete(key, epoch));
    }

    @Override
    public void close() {}

    /** The bus over the same network. */
    private final class Bus implements ClusterBus {
        @Override
        public Duration answersWithin() {
            return answersWithin;
        }

        @Override
        public CompletionStage<Void> begin(String node, Duration lease) {
            breakLease();
            return ask(() -> store.bus().begin(node, lease));
        }

        @Override
        public CompletionStage<Boolean> renew(String node, Duration lease) {
            breakLease();
            return ask(() -> store.bus().renew(node, lease));
        }

        private void breakLease() {
            if (leasesBreak) {
                throw new NoClassDefFoundError("expected");
            }
        }

        @Override
        public CompletionStage<Void> end(String node) {
            return ask(Question.END, () -> store.bus().end(node));
        }

        @Override
        public CompletionStage<Set<String>> living() {
            return ask(() -> store.bus().living());
        }

        @Override
        public CompletionStage<Boolean> send(String node, byte[] message) {
            if (message.length > mostBytes) {
                return tooLarge();
            }
            Fate fate = sendings.isEmpty() ? Fate.DONE : sendings.remove();
            if (fate == Fate.LOST) {
                return away();
            }
            if (fate == Fate.REFUSED) {
                return CompletableFuture.completedFuture(false);
            }
            if (fate == Fate.HELD) {
                return held.later(() -> ask(() -> store.bus().send(node, message)));
            }
            CompletionStage<Boolean> sent = ask(Question.SEND, () -> store.bus().send(node, message));
            return fate == Fate.DONE ? sent : sent.thenCompose(answer -> away());
        }

        @Override
        public Inbox receive(String node, Consumer<byte[]> handler) {
            if (withoutInbox) {
                withoutInbox = false;
                throw new IllegalStateException("no inbox");
            }
            return store.bus().receive(node, message -> {
                if (frozen) {
                    unheard.add(() -> handler.accept(message));
                } else if (!cut && !deaf) {
                    handler.accept(message);
                }
            });
        }
    }
}
