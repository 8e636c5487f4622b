package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The first that a node hears of a session's client are notifications, and another node has initialized the session. */
class NotificationOrderTest {
    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final Session here = ((Opening.Awaiting) TestBed.now(second.engine.open("", TestBed.LIFETIME))).session();
    private final Deque<Runnable> tasks = new ArrayDeque<>();

    private void initializedElsewhere() {
        TestBed.accepted(first.find(here).call(List.of(Wire.initialize()))).dispatch();
        bed.settle();
        assertThat(here.revision()).isEmpty();
    }

    private static InboundMessage numbered(int number) {
        return Wire.notification("notifications/" + number);
    }

    /** Does what may block, the latest first, as threads may that race. */
    private void doAllBackwards() {
        for (Runnable task = tasks.pollLast(); task != null; task = tasks.pollLast()) {
            task.run();
            bed.settle();
        }
    }

    private List<String> heard() {
        return second.backend.life().heard;
    }

    @Test
    void theBackendThatIsOpenedHereHearsThemInOrder() {
        initializedElsewhere();
        second.executor = tasks::add;
        List<CompletionStage<Optional<Refusal>>> taken = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            taken.add(here.notify(numbered(i)));
        }
        bed.settle();
        doAllBackwards();
        assertThat(taken).extracting(TestBed::now).containsOnly(Optional.empty());
        assertThat(heard()).containsExactly("notifications/0", "notifications/1", "notifications/2");
    }

    @Test
    void oneThatComesWhenTheRevisionIsKnownDoesNotPassThoseThatWait() {
        initializedElsewhere();
        second.executor = tasks::add;
        here.notify(numbered(0));
        here.notify(numbered(1));
        bed.settle();
        while (here.revision().isEmpty()) {
            tasks.remove().run();
            bed.settle();
        }
        here.notify(numbered(2));
        doAllBackwards();
        assertThat(heard()).containsExactly("notifications/0", "notifications/1", "notifications/2");
    }

    @Test
    void whereThatCannotBeReadItIsNotTaken() {
        initializedElsewhere();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        assertThat(here.notify(numbered(0)).toCompletableFuture()).isCompletedExceptionally();
        second.store.fail(FlakyCluster.Question.LOOK, false);
        assertThat(TestBed.now(here.notify(numbered(1)))).isEmpty();
        assertThat(heard()).containsExactly("notifications/1");
    }
}
