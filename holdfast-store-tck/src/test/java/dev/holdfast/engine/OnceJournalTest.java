package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What a client says of itself on one node of three, when the session's only backend is on another. */
class OnceJournalTest {
    private static final String METHOD = "notifications/initialized";
    private static final InboundMessage INITIALIZED = Wire.notification(METHOD, new JournalChange.Put(METHOD));
    /** So much waits on a node for the backend of one session. */
    private static final int MOST_WAITING = 1_024;

    @AutoClose
    private final ClusterBed bed = ClusterBed.once(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);
    private final Session here = first.open();
    private final Session there = second.find(here);

    private void initialized() {
        assertThat(bed.now(there.notify(INITIALIZED))).isEmpty();
    }

    @Test
    void theBackendHearsItOnce() {
        initialized();
        bed.settle();
        assertThat(first.backend.life().heard).containsExactly(METHOD);
        bed.post(here, 1);
        bed.post(there, 2);
        assertThat(first.backend.life().heard).containsExactly(METHOD, "tools/call 1", "tools/call 2");
    }

    @Test
    void aCallThatReachesTheBackendsNodeDoesNotPassIt() {
        Queue<Runnable> tasks = work();
        initialized();
        bed.settle();
        CompletionStage<Call.Outcome> outcome = here.call(TestBed.requests(1));
        bed.settle();
        doAll(tasks);
        bed.connected(outcome);
        assertThat(first.backend.life().heard).containsExactly(METHOD, "tools/call 1");
    }

    @Test
    void aForwardedCallMakesGoodThatNobodyHasTold() {
        second.store.fail(FlakyCluster.Question.SEND, true);
        CompletionStage<Optional<Refusal>> taken = there.notify(INITIALIZED);
        bed.settle();
        assertThat(taken.toCompletableFuture()).isNotDone();
        bed.post(third.find(here), 1);
        assertThat(first.backend.life().heard).containsExactly(METHOD, "tools/call 1");
    }

    @Test
    void aCallDoesNotRunWhereTheBackendsNodeCannotReadIt() {
        first.store.fail(FlakyCluster.Question.LOOK, true);
        initialized();
        bed.settle();
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        assertThat(TestBed.now(outcome)).isEqualTo(new Call.Refused(Refusal.STORE));
        assertThat(bed.record(here).running()).isEmpty();
        first.store.fail(FlakyCluster.Question.LOOK, false);
        bed.post(there, 1);
        assertThat(first.backend.life().heard).containsExactly(METHOD, "tools/call 1");
    }

    @Test
    void theNextNodesBackendHearsItWhereTheFirstDiesBeforeItIsTold() {
        first.store.deaf = true;
        there.notify(INITIALIZED);
        bed.settle();
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        bed.post(third.find(here), 1);
        assertThat(third.backend.life().heard).containsExactly(METHOD, "tools/call 1");
    }

    @Test
    void aNotificationThatComesBehindItDoesNotPassIt() {
        first.store.hold(FlakyCluster.Question.LOOK);
        initialized();
        there.notify(Wire.notification("notifications/roots"));
        bed.settle();
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.life().heard).containsExactly(METHOD, "notifications/roots");
    }

    @Test
    void whatComesBehindItKeepsItsOrder() {
        first.store.hold(FlakyCluster.Question.LOOK);
        initialized();
        List<String> methods =
                IntStream.range(0, 5).mapToObj(i -> "notifications/" + i).toList();
        methods.forEach(method -> there.notify(Wire.notification(method)));
        bed.settle();
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.life().heard).startsWith(METHOD).endsWith(methods.toArray(String[]::new));
    }

    /** Another backend, which is being opened for a call, has asked its client something, and waits for the answer. */
    private TestBackend.Life asking() {
        Connection listening = bed.listen(there);
        first.backend.life().sink.lost("it died");
        first.backend.slow = true;
        CompletionStage<Call.Outcome> unused = there.call(TestBed.requests(1));
        bed.settle();
        TestBackend.Life next = first.backend.life();
        next.sink.onAnswer(answer -> {
            next.answer(answer);
            next.accept();
        });
        next.sink.send(Wire.out(EventKind.SERVER_REQUEST, Wire.id(77), "question"));
        assertThat(bed.read(listening)).contains("question");
        return next;
    }

    @Test
    void anAnswerForWhichTheBackendWaitsPassesWhatWaitsForTheBackend() {
        TestBackend.Life next = asking();
        initialized();
        bed.settle();
        there.notify(Wire.notification("notifications/roots"));
        bed.settle();
        assertThat(TestBed.now(there.answer(Wire.answer(Wire.id(77))))).isTrue();
        bed.settle();
        assertThat(next.heard).startsWith("answer 77").contains(METHOD, "notifications/roots", "tools/call 1");
    }

    /** What is to be done on the first node where it may block, which nobody does yet. */
    private Deque<Runnable> work() {
        Deque<Runnable> tasks = new ArrayDeque<>();
        first.executor = tasks::add;
        return tasks;
    }

    private static void doAll(Queue<Runnable> tasks) {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    @Test
    void theBackendHearsTheNewsOnNoThreadOfTheStore() {
        first.store.hold(FlakyCluster.Question.LOOK);
        initialized();
        bed.settle();
        Queue<Runnable> tasks = work();
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.life().heard).isEmpty();
        doAll(tasks);
        assertThat(first.backend.life().heard).containsExactly(METHOD);
    }

    @Test
    void soItHearsANotificationThatArrivesOnItsNode() {
        first.store.hold(FlakyCluster.Question.TOKEN);
        CompletionStage<Optional<Refusal>> taken = here.notify(INITIALIZED);
        Queue<Runnable> tasks = work();
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.life().heard).isEmpty();
        doAll(tasks);
        assertThat(bed.now(taken)).isEmpty();
        assertThat(first.backend.life().heard).containsExactly(METHOD);
    }

    /** Does what there is to do, and what comes of it, the latest first, as threads may that race. */
    private static void doAllBackwards(Deque<Runnable> tasks) {
        for (Runnable task = tasks.pollLast(); task != null; task = tasks.pollLast()) {
            task.run();
        }
    }

    private static InboundMessage numbered(int number) {
        return Wire.notification("notifications/" + number);
    }

    @Test
    void notificationsThatArriveOnTheBackendsNodeKeepTheirOrder() {
        Deque<Runnable> tasks = work();
        List<CompletionStage<Optional<Refusal>>> taken =
                IntStream.range(0, 3).mapToObj(i -> here.notify(numbered(i))).toList();
        bed.settle();
        doAllBackwards(tasks);
        assertThat(taken).extracting(TestBed::now).containsOnly(Optional.empty());
        assertThat(first.backend.life().heard).containsExactly("notifications/0", "notifications/1", "notifications/2");
    }

    @Test
    void theyDoNotPassWhatAnotherNodeHasSentBefore() {
        Deque<Runnable> tasks = work();
        there.notify(numbered(0));
        bed.settle();
        here.notify(numbered(1));
        bed.settle();
        doAllBackwards(tasks);
        assertThat(first.backend.life().heard).containsExactly("notifications/0", "notifications/1");
    }

    @Test
    void theyDoNotPassWhatAnotherNodeHasPutIntoTheJournalBefore() {
        first.store.hold(FlakyCluster.Question.LOOK);
        initialized();
        bed.settle();
        CompletionStage<Optional<Refusal>> taken = here.notify(numbered(0));
        bed.settle();
        first.store.letGo();
        bed.settle();
        assertThat(TestBed.now(taken)).isEmpty();
        assertThat(first.backend.life().heard).containsExactly(METHOD, "notifications/0");
    }

    @Test
    void theyAreRefusedWhereTooMuchWaitsBeforeThem() {
        Deque<Runnable> tasks = work();
        List<CompletionStage<Optional<Refusal>>> taken = IntStream.rangeClosed(0, MOST_WAITING)
                .mapToObj(i -> here.notify(numbered(i)))
                .toList();
        bed.settle();
        assertThat(TestBed.now(taken.get(MOST_WAITING))).contains(Refusal.BACKEND);
        doAllBackwards(tasks);
        assertThat(taken.subList(0, MOST_WAITING)).extracting(TestBed::now).containsOnly(Optional.empty());
        assertThat(first.backend.life().heard).hasSize(MOST_WAITING);
    }
}
