package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two engines over one store: whoever claims a session has it, and the other one gives it up at once. */
class TakenOverTest {
    private final TestBed bed = TestBed.shared();
    private final TestBackend elsewhere = new TestBackend();
    private final SessionEngine other = SessionEngine.builder(elsewhere, Wire.MESSAGES)
            .store(bed.store)
            .clock(bed.time)
            .wallClock(bed.time)
            .scheduler(bed.time)
            .executor(Runnable::run)
            .random(new Random(7))
            .build()
            .start();

    @AfterEach
    void close() {
        var drained = other.drain(Duration.ZERO);
        bed.close();
        TestBed.now(drained);
    }

    @Test
    void anAppendThatIsRefusedForItsEpochEndsTheSessionHereAndNothingIsAppended() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        Connection call = bed.post(session, 1);
        bed.backend.life().call(1).sink().send(Wire.progress("1"));
        assertThat(call.read()).containsExactly("1");
        assertThat(TestBed.now(other.find(session.id(), ""))).isInstanceOf(Found.class);
        int appended = bed.store.appended.size();

        bed.backend.life().sink.send(Wire.notice("late"));
        bed.backend.life().call(1).respond();

        assertThat(call.read()).containsExactly("1");
        listening.read();
        assertThat(listening.reason()).isEqualTo(EndReason.TAKEN_OVER);
        assertThat(call.reason()).isEqualTo(EndReason.TAKEN_OVER);
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.news.heard).endsWith("closed: TAKEN_OVER");
        bed.pass(Duration.ofMinutes(1));
        assertThat(bed.store.appended.subList(appended, bed.store.appended.size()))
                .as("after the append that was refused this engine tries no other")
                .filteredOn(append ->
                        append.events().stream().anyMatch(event -> event.epoch().counter() == 1))
                .singleElement()
                .extracting(append -> Wire.text(append.events().get(0)))
                .isEqualTo("late");
    }

    @Test
    void theClientGoesOnWhereTheSessionIsNow() {
        Session session = bed.open();
        Connection before = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("kept"));
        Session there = ((Found) TestBed.now(other.find(session.id(), ""))).session();
        elsewhere.life().sink.send(Wire.notice("there"));
        bed.backend.life().sink.send(Wire.notice("late"));
        assertThat(TestBed.resume(there, before).read()).containsExactly("kept", "there");
    }

    @Test
    void whoAsksTheFirstEngineAgainFindsItThereAgain() {
        Session session = bed.open();
        Connection before = TestBed.listen(session);
        TestBed.now(other.find(session.id(), ""));
        bed.backend.life().sink.send(Wire.notice("late"));
        Session back = bed.find(session.id(), "").orElseThrow();
        assertThat(back).isNotSameAs(session);
        bed.backend.life().sink.send(Wire.notice("back"));
        assertThat(TestBed.resume(back, before).read()).containsExactly("back");
        bed.news.heard.removeIf(line -> line.startsWith("gap"));
        assertThat(other.size()).as("the other one does not know yet").isOne();
    }

    @Test
    void whatExpiresHereStaysWhereAnotherHasClaimedIt() {
        Session parked = bed.open();
        TestBed.listen(parked).broken();
        Session idle = bed.open();
        bed.find(idle.id(), "");
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.engine.stats().parked()).isOne();
        Session first = ((Found) TestBed.now(other.find(parked.id(), ""))).session();
        Session second = ((Found) TestBed.now(other.find(idle.id(), ""))).session();
        Connection one = TestBed.listen(first);
        Connection two = TestBed.listen(second);

        bed.pass(TestBed.IDLE.plusSeconds(1));
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.engine.stats().parked()).isZero();
        elsewhere.lives.forEach(life -> life.sink.send(Wire.notice("served")));
        assertThat(one.read()).containsExactly("served");
        assertThat(two.read()).containsExactly("served");
    }

    @Test
    void whoWaitsForTheEndOfASessionThatAnotherHasClaimedFindsIt() {
        Session session = bed.open();
        TestBed.listen(session).broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.engine.stats().parked()).isOne();
        TestBed.listen(((Found) TestBed.now(other.find(session.id(), ""))).session());
        CompletableFuture<Void> deletion = new CompletableFuture<>();
        bed.store.deleting = Optional.of(deletion);
        bed.pass(TestBed.GRACE);

        CompletableFuture<Finding> found = bed.engine.find(session.id(), "").toCompletableFuture();
        assertThat(found).isNotDone();
        bed.store.deleting = Optional.empty();
        deletion.complete(null);
        assertThat(TestBed.now(found)).isInstanceOf(Found.class);
    }

    @Test
    void whoAsksForTheEndOfAnotherKindOfSessionTakesNothingOver() {
        Session session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        Connection listening = TestBed.listen(session);
        assertThat(TestBed.now(other.terminate(session.id(), ""))).isFalse();
        TestBed.accepted(session.call(List.of(Wire.initialize()))).dispatch();
        assertThat(listening.read()).hasSize(1);
        assertThat(bed.store.claims).isZero();
    }

    @Test
    void aSessionThatWasTakenOverWhileItWasParkedIsLeftToTheOther() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("kept"));
        listening.read();
        bed.pass(Duration.ofSeconds(1));
        listening.broken();
        Session there = ((Found) TestBed.now(other.find(session.id(), ""))).session();
        bed.store.hold();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        bed.store.release();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(TestBed.now(bed.engine.drain(Duration.ZERO))).isNull();
        assertThat(TestBed.listen(there).read())
                .as("it is whole where it is now")
                .containsExactly("kept");
        assertThat(there.state()).isNotEqualTo(SessionState.CLOSED);
    }
}
