package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.SessionDescription;
import dev.holdfast.SessionDescription.OfStream;
import dev.holdfast.SessionState;
import dev.holdfast.Termination;
import dev.holdfast.spi.SessionRecord;
import java.time.Duration;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What an engine tells of its sessions to those who watch it. */
class LiveSessionsTest {
    @AutoClose
    private final TestBed bed = new TestBed();

    private SessionDescription described(Session session) {
        return bed.engine
                .sessions()
                .filter(each -> each.shortId().equals(session.shortId()))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aSessionIsDescribedAsItIs() {
        Session session =
                ((Opening.Opened) TestBed.now(bed.engine.open(Wire.initialize(), "ann", TestBed.LIFETIME))).session();
        bed.pass(Duration.ofSeconds(5));
        TestBed.listen(session);
        bed.post(session, 1).broken();

        SessionDescription described = described(session);

        assertThat(described.shortId()).hasSizeLessThanOrEqualTo(8);
        assertThat(described.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(described.revision()).isEqualTo(session.revision()).isNotEmpty();
        assertThat(described.principal()).isEqualTo("ann");
        assertThat(described.age()).isEqualTo(Duration.ofSeconds(5));
        assertThat(described.streams()).isEqualTo(1);
        assertThat(described.runningCalls()).isEqualTo(1);

        bed.backend.life().call(1).respond();

        assertThat(described(session).runningCalls()).isZero();
        assertThat(described(session).keptMessages()).isEqualTo(1);
        assertThat(described(session).keptBytes()).isPositive();
    }

    @Test
    void noMoreSessionsAreDescribedThanAreTaken() {
        for (int i = 0; i < 100; i++) {
            bed.open();
        }

        assertThat(bed.engine.sessions().limit(3)).hasSize(3);
        assertThat(bed.engine.sessions()).hasSize(100);
    }

    @Test
    void aSessionIsEndedByItsShortenedId() {
        Session session = bed.open();
        Session other = bed.open();

        assertThat(TestBed.now(bed.engine.terminate("nobody12"))).isEqualTo(Termination.UNKNOWN);
        assertThat(TestBed.now(bed.engine.terminate(session.shortId()))).isEqualTo(Termination.ENDED);

        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.engine.sessions())
                .extracting(SessionDescription::shortId)
                .containsExactly(other.shortId());
        assertThat(TestBed.now(bed.engine.terminate(session.shortId()))).isEqualTo(Termination.UNKNOWN);
    }

    @Test
    void ofSeveralSessionsWithOneNameNoneIsEnded() {
        try (SessionEngine engine = SessionEngine.builder(new TestBackend(), Wire.MESSAGES)
                .random(new SameBeginning())
                .build()) {
            Session first =
                    ((Opening.Opened) TestBed.now(engine.open(Wire.initialize(), "", TestBed.LIFETIME))).session();
            Session second =
                    ((Opening.Opened) TestBed.now(engine.open(Wire.initialize(), "", TestBed.LIFETIME))).session();
            assertThat(first.shortId()).isEqualTo(second.shortId());

            assertThat(TestBed.now(engine.terminate(first.shortId()))).isEqualTo(Termination.AMBIGUOUS);

            assertThat(List.of(first, second)).noneMatch(session -> session.state() == SessionState.CLOSED);
        }
    }

    @Test
    void aSessionSaysWhatItsClientSaysOfItself() {
        Session session = bed.open();

        assertThat(described(session).kind()).isEqualTo(SessionRecord.SESSION);
        assertThat(described(session).client())
                .isEqualTo(Wire.MESSAGES.client(Wire.initialize().bytes()));
    }

    @Test
    void eachStreamIsToldFromItsFirstKeptEventToItsEndWithTheCursorsOfItsReaders() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("one"));
        bed.backend.life().sink.send(Wire.notice("two"));
        assertThat(listening.read()).hasSize(2);
        bed.backend.life().sink.send(Wire.notice("three"));
        bed.post(session, 1).broken();
        bed.backend.life().call(1).respond();

        List<OfStream> streams = bed.engine
                .sessions(session.shortId())
                .map(SessionDescription.InDetail::streams)
                .findFirst()
                .orElseThrow();

        assertThat(streams).hasSize(2);
        assertThat(streams.get(0).name()).isEqualTo("0.0");
        assertThat(streams.get(0).first()).isOne();
        assertThat(streams.get(0).last()).isEqualTo(3);
        assertThat(streams.get(0).events()).isEqualTo(3);
        assertThat(streams.get(0).cursors()).containsExactly(2L);
        assertThat(streams.get(0).end()).isEmpty();
        assertThat(streams.get(1).last()).isOne();
        assertThat(streams.get(1).cursors()).isEmpty();
        assertThat(streams.get(1).end()).contains(EndReason.COMPLETED);
    }

    @Test
    void aParkedSessionIsToldAndEndedWithoutComingBack() {
        try (TestBed durable = TestBed.durable()) {
            Session session = durable.open();
            assertThat(durable.find(session.id(), "")).isPresent();
            TestBed.listen(session).broken();
            durable.pass(TestBed.PARK_AFTER.plusSeconds(5));

            assertThat(durable.engine.parkedSessions()).singleElement().satisfies(parked -> {
                assertThat(parked.shortId()).isEqualTo(session.shortId());
                assertThat(parked.principal()).isEmpty();
            });
            assertThat(durable.engine.sessions()).isEmpty();
            assertThat(TestBed.now(durable.engine.terminate(session.shortId(), "another"::equals)))
                    .isEqualTo(Termination.UNKNOWN);
            assertThat(TestBed.now(durable.engine.terminate(session.shortId(), ""::equals)))
                    .isEqualTo(Termination.ENDED);

            assertThat(durable.engine.parkedSessions()).isEmpty();
            assertThat(durable.find(session.id(), "")).isEmpty();
            assertThat(durable.news.heard).doesNotContain("restored").endsWith("closed: TERMINATED");
        }
    }

    @Test
    void aSessionOfAnotherPrincipalIsNotEnded() {
        Session session =
                ((Opening.Opened) TestBed.now(bed.engine.open(Wire.initialize(), "ann", TestBed.LIFETIME))).session();

        assertThat(TestBed.now(bed.engine.terminate(session.shortId(), "bob"::equals)))
                .isEqualTo(Termination.UNKNOWN);

        assertThat(described(session).principal()).isEqualTo("ann");
    }

    /** Gives ids that differ at their end only. */
    private static final class SameBeginning implements RandomGenerator {
        private byte next;

        @Override
        public long nextLong() {
            return 1;
        }

        @Override
        public void nextBytes(byte[] bytes) {
            bytes[bytes.length - 1] = ++next;
        }
    }
}
