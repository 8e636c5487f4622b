package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Finding;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Sessions of a cluster that only listen, as HTTP+SSE has them, and what backends know of those who listen. */
class ClusterListeningTest {
    private static final Lifetime ENDS_WITH_ITS_CONNECTION = TestBed.LIFETIME.withGrace(Duration.ZERO);

    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    private Session await(Lifetime lifetime) {
        return ((Opening.Awaiting) TestBed.now(first.engine.open("", lifetime))).session();
    }

    @Test
    void aSessionThatEndsWithItsConnectionIsOnEveryNodeWhileItLasts() {
        Session here = await(ENDS_WITH_ITS_CONNECTION);
        Connection listening = bed.listen(here);
        assertThat(second.has(here)).isTrue();
        Session there = second.find(here);
        TestBed.accepted(there.call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        Session back = first.find(here);
        TestBed.accepted(back.call(TestBed.requests(1))).dispatch();
        first.backend.life().call(1).respond();
        assertThat(bed.read(listening)).containsExactly("result 0", "result 1");
        listening.broken();
        bed.pass(Duration.ofSeconds(1));
        bed.nodes.forEach(node -> assertThat(node.has(here)).isFalse());
    }

    @Test
    void aSessionThatEndsWithItsConnectionEndsWithTheNodeThatHasIt() {
        Session here = await(ENDS_WITH_ITS_CONNECTION);
        bed.listen(here);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        assertThat(TestBed.now(second.engine.find(here.id(), ""))).isInstanceOf(Finding.Missing.class);
    }

    @Test
    void aSessionThatHasEndedGetsNoBackendFromWhatTheStoreStillKnewOfIt() {
        Session here = await(ENDS_WITH_ITS_CONNECTION);
        Connection listening = bed.listen(here);
        Session there = second.find(here);
        TestBed.accepted(there.call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        there.notify(Wire.notification("notifications/initialized", new JournalChange.Put("initialized")));
        bed.settle();
        first.store.hold(FlakyCluster.Question.LOOK);
        first.store.hold(FlakyCluster.Question.DELETE);
        here.notify(Wire.notification("notifications/roots/list_changed"));
        listening.broken();
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.lives).isEmpty();
    }

    @Test
    void aBackendHearsANotificationOnNoThreadOfTheStore() {
        Session here = await(TestBed.LIFETIME);
        Connection listening = bed.listen(here);
        TestBed.accepted(second.find(here).call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        first.store.hold(FlakyCluster.Question.LOOK);
        here.notify(Wire.notification("notifications/roots/list_changed"));
        List<Runnable> tasks = new ArrayList<>();
        first.executor = tasks::add;
        first.store.letGo();
        bed.settle();
        assertThat(first.backend.lives).isEmpty();
        first.executor = Runnable::run;
        tasks.forEach(Runnable::run);
        assertThat(first.backend.life().heard).containsExactly("notifications/roots/list_changed");
    }

    @Test
    void aSessionThatWasInitializedOnAnotherNodeIsNotForgotten() {
        Session here = await(TestBed.LIFETIME);
        Connection listening = bed.listen(here);
        TestBed.accepted(second.find(here).call(List.of(Wire.initialize()))).dispatch();
        assertThat(bed.read(listening)).containsExactly("result 0");
        bed.pass(TestBed.IDLE.plusSeconds(5));
        assertThat(listening.end).isEmpty();
        assertThat(first.has(here)).isTrue();
    }

    @Test
    void aSessionThatIsBeingInitializedWhenTheStoreAnswersIsNotForgotten() {
        Session here = await(TestBed.LIFETIME.withInitialization(Duration.ofSeconds(10)));
        Connection listening = bed.listen(here);
        first.store.hold(FlakyCluster.Question.LOOK);
        bed.pass(Duration.ofSeconds(11));
        first.backend.slow = true;
        TestBed.accepted(here.call(List.of(Wire.initialize()))).dispatch();
        first.store.letGo();
        bed.pass(Duration.ofSeconds(2));
        first.backend.life().accept();
        assertThat(bed.read(listening)).containsExactly("result 0");
        assertThat(listening.end).isEmpty();
    }

    @Test
    void aBackendKnowsWhoListensHere() {
        Session here = first.open();
        ListeningSink sink = first.backend.life().sink;
        assertThat(sink.attached()).isFalse();
        assertThat(sink.followed()).isFalse();
        Connection listening = bed.listen(here);
        assertThat(sink.attached()).isTrue();
        bed.pass(TestBed.GRACE.multipliedBy(3));
        assertThat(sink.followed()).isTrue();
        listening.broken();
        assertThat(sink.attached()).isFalse();
        assertThat(sink.followed()).isTrue();
    }
}
