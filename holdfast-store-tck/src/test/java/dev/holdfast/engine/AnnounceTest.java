package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.engine.TestStore.Fate;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What a server says to its clients by itself. */
class AnnounceTest {
    @AutoClose
    private final TestBed bed = TestBed.durable();

    private Session session = bed.open();

    private CompletableFuture<Void> announce(String text) {
        return bed.engine.announce(Wire.notice(text), to -> true).toCompletableFuture();
    }

    @Test
    void everyClientGetsItOnceWhetherItListensOrNot() {
        Session other = bed.open();
        Connection listening = TestBed.listen(session);
        assertThat(announce("a")).isCompleted();
        assertThat(listening.read()).containsExactly("a");
        assertThat(TestBed.listen(other).read()).containsExactly("a");
    }

    @Test
    void itGoesOnlyToThoseItIsFor() {
        Session other = bed.open();
        bed.engine.announce(Wire.notice("a"), to -> to.id().equals(other.id()));
        assertThat(TestBed.listen(session).read()).isEmpty();
        assertThat(TestBed.listen(other).read()).containsExactly("a");
    }

    @Test
    void aClientThatIsBackBeforeItsBackendGetsIt() {
        Connection before = TestBed.listen(session);
        bed.backend.slow = true;
        bed.die();
        session = bed.find(session.id(), "").orElseThrow();
        Connection listening = TestBed.resume(session, before);
        announce("a");
        assertThat(listening.read()).containsExactly("a");
        assertThat(bed.news.heard).doesNotContain("restored");
        bed.backend.life().accept();
        announce("b");
        assertThat(listening.read()).containsExactly("a", "b");
    }

    @Test
    void aSessionThatIsLeavingMemoryIsNotWaitedFor() {
        Connection listening = TestBed.listen(session);
        bed.pass(Duration.ofSeconds(1));
        bed.store.hold();
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(announce("a")).isCompleted();
        bed.store.release();
        assertThat(bed.news.heard).endsWith("parked");
    }

    @Test
    void aClientWhoseBackendIsLostGetsIt() {
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.lost("the process died");
        announce("a");
        assertThat(listening.read()).containsExactly("a");
    }

    @Test
    void aClientThatHasYetToInitializeItsSessionDoesNotGetIt() {
        Opening opening = TestBed.now(bed.engine.open("", TestBed.LIFETIME));
        Connection listening = TestBed.listen(((Opening.Awaiting) opening).session());
        assertThat(announce("a")).isCompleted();
        assertThat(listening.read()).isEmpty();
    }

    @Test
    void aSessionThatHasEndedIsNoFailure() {
        session.terminate();
        assertThat(announce("a")).isCompleted();
    }

    @Test
    void thatOneStoreWriteFailedIsToldAndTheOthersHaveIt() {
        Session other = bed.open();
        bed.store.decree(Fate.LOST);
        assertThat(announce("a")).isCompletedExceptionally();
        int told = TestBed.listen(session).read().size()
                + TestBed.listen(other).read().size();
        assertThat(told).isOne();
    }

    @Test
    void aQuestionIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> bed.engine.announce(Wire.question("q"), to -> true));
    }
}
