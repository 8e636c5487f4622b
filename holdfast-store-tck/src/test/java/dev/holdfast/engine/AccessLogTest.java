package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.EventKind;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Who called what: a line for each session that begins or ends, and one for each call where that is wanted. */
class AccessLogTest {
    private static final String WHO = "client=\"initialize 0\" version=\"initialize 0\" principal=\"alice\"";

    private final Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast.access");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
        logger.setLevel(Level.INFO);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    private static Session open(TestBed bed) {
        return open(bed, "alice");
    }

    private static Session open(TestBed bed, String principal) {
        return ((Opening.Opened) TestBed.now(bed.engine.open(Wire.initialize(), principal, TestBed.LIFETIME)))
                .session();
    }

    /** What is told of a session, behind its name. */
    private List<String> told(Session session) {
        String name = "session " + session.shortId() + ": ";
        return log.list.stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()))
                .toList();
    }

    @Test
    void aSessionHasOneLineWhenItOpensAndOneWhenItEnds() {
        try (TestBed bed = new TestBed()) {
            Session session = open(bed);
            bed.post(session, 1, 2);
            bed.pass(Duration.ofSeconds(12));
            session.terminate();

            assertThat(told(session))
                    .containsExactly(
                            "opened " + WHO + " protocol=\"2025-11-25\" over=http",
                            "ended reason=terminated code=1001 age=12s unused=12s calls=2 " + WHO
                                    + ": terminated by the client");
            assertThat(log.list).extracting(ILoggingEvent::getLevel).containsOnly(Level.INFO);
        }
    }

    @Test
    void everyOtherEndHasOneLineToo() {
        try (TestBed bed = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withSessions(2))) {
            Session lost = open(bed);
            bed.backend.life().sink.lost("the process died");
            bed.backend.revision = "2025-06-18";
            bed.post(lost, 1);
            bed.backend.revision = TestBackend.REVISION;
            Session evicted = open(bed);
            Session expired = open(bed);
            Session drained = open(bed);
            TestBed.listen(expired).broken();
            bed.pass(TestBed.GRACE.plusSeconds(1));
            bed.close();

            assertThat(told(lost)).hasSize(2).last().asString().startsWith("ended reason=restore-failed code=1006 ");
            assertThat(told(evicted)).hasSize(2).last().asString().startsWith("ended reason=evicted code=1004 ");
            assertThat(told(expired))
                    .hasSize(2)
                    .last()
                    .asString()
                    .startsWith("ended reason=expired code=1002 age=30s unused=30s calls=0 ")
                    .contains("--reconnect-grace");
            assertThat(told(drained)).hasSize(2).last().asString().startsWith("ended reason=drained code=1008 ");
        }
    }

    @Test
    void overHttpSseItIsOpenedWhenItsClientIntroducesItself() {
        try (TestBed bed = new TestBed()) {
            Session session = ((Opening.Awaiting) TestBed.now(bed.engine.open("alice", TestBed.LIFETIME))).session();
            Session silent = ((Opening.Awaiting) TestBed.now(bed.engine.open("bob", TestBed.LIFETIME))).session();
            assertThat(told(session)).isEmpty();
            TestBed.accepted(session.call(List.of(Wire.initialize()))).dispatch();
            session.terminate();
            silent.terminate();

            assertThat(told(session))
                    .containsExactly(
                            "opened " + WHO + " protocol=\"2025-11-25\" over=http+sse",
                            "ended reason=terminated code=1001 age=0s unused=0s calls=0 " + WHO
                                    + ": terminated by the client");
            assertThat(told(silent)).as("nobody knows whose it was").isEmpty();
        }
    }

    @Test
    void whatComesFromTheStoreAndEndsThereIsTold() {
        try (TestBed bed = TestBed.durable()) {
            Session session = open(bed);
            TestBed.listen(session).broken();
            bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
            assertThat(bed.find(session.id(), "alice")).isPresent();
            bed.die();
            bed.find(session.id(), "alice")
                    .ifPresent(again -> TestBed.listen(again).broken());
            bed.pass(TestBed.GRACE.plus(Duration.ofHours(2)));

            assertThat(told(session)).hasSize(4);
            assertThat(told(session).subList(0, 3))
                    .containsExactly(
                            "opened " + WHO + " protocol=\"2025-11-25\" over=http",
                            "returned " + WHO + " protocol=\"2025-11-25\" over=http",
                            "returned " + WHO + " protocol=\"2025-11-25\" over=http");
            assertThat(told(session).get(3))
                    .startsWith("ended in the store reason=expired code=1002 principal=\"alice\": ")
                    .contains("--reconnect-grace");
        }
    }

    @Test
    void aSessionThatMovesIsToldOnEachNode() {
        try (ClusterBed bed = new ClusterBed(2)) {
            Session here = bed.node(0).open();
            bed.post(bed.node(1).find(here), 1);

            assertThat(told(here)).hasSize(2).first().asString().startsWith("opened ");
            assertThat(told(here)).last().asString().startsWith("joined client=\"initialize 0\"");
        }
    }

    @Test
    void callsAreToldAtDebugOnly() {
        try (TestBed bed = new TestBed()) {
            Session session = open(bed);
            bed.post(session, 1);
            bed.backend.life().call(1).respond();
            logger.setLevel(Level.DEBUG);
            bed.post(session, 2);
            bed.pass(Duration.ofMillis(1_234));
            bed.backend.life().call(2).respond();

            assertThat(told(session)).hasSize(2);
            assertThat(log.list.get(1).getLevel()).isEqualTo(Level.DEBUG);
            assertThat(told(session).get(1))
                    .isEqualTo("call method=\"tools/call\" tool=\"tools/call 2\" outcome=answered took=1234ms resumed=0"
                            + " rerun=false principal=\"alice\"");
        }
    }

    /** The one line of a call, without its beginning and its end. */
    private List<String> outcomes(Session session) {
        return told(session).stream()
                .filter(line -> line.startsWith("call "))
                .map(line -> line.substring(line.indexOf("outcome="), line.indexOf(" principal=")))
                .toList();
    }

    @Test
    void eachOutcomeIsTold() {
        logger.setLevel(Level.DEBUG);
        try (TestBed bed = TestBed.durable()) {
            Session session = open(bed);
            bed.post(session, 1, 2, 3, 4);
            TestBackend.Life life = bed.backend.life();
            life.call(1).sink().send(Wire.refusal(Wire.id(1)));
            life.call(2).sink().send(Wire.out(EventKind.RESPONSE, Wire.id(2), "tool-error"));
            session.cancel(Wire.id(3), Wire.cancelled(3));
            Connection cut = bed.post(session, 5);
            cut.broken();
            TestBed.resume(session, cut).broken();
            TestBed.resume(session, cut);
            life.call(5).respond();
            session.terminate();

            assertThat(outcomes(session))
                    .containsExactly(
                            "outcome=failed code=\"refused 1\" took=0ms resumed=0 rerun=false",
                            "outcome=tool-error took=0ms resumed=0 rerun=false",
                            "outcome=cancelled took=0ms resumed=0 rerun=false",
                            "outcome=answered took=0ms resumed=2 rerun=false",
                            "outcome=failed code=\"error 4 -32603: the session has ended: terminated by the client\" took=0ms resumed=0"
                                    + " rerun=false");
        }
    }

    @Test
    void aCallThatIsRunAgainAfterARestartSaysSo() {
        logger.setLevel(Level.DEBUG);
        try (TestBed bed = TestBed.durable()) {
            bed.backend.harmless = "tools/call";
            Session session = open(bed);
            Connection first = bed.post(session, 1);
            bed.die();
            TestBed.resume(bed.find(session.id(), "alice").orElseThrow(), first);
            bed.backend.life().call(1).respond();

            assertThat(outcomes(session)).containsExactly("outcome=answered took=0ms resumed=1 rerun=true");
        }
    }

    @Test
    void aCallThatMovesToAnotherNodeIsToldThere() {
        logger.setLevel(Level.DEBUG);
        try (ClusterBed bed = new ClusterBed(2)) {
            bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
            Session here = bed.node(0).open();
            Session there = bed.node(1).find(here);
            Connection call = bed.post(here, 1);
            bed.node(0).die();
            bed.pass(ClusterBed.LEASE.plusMillis(1));
            bed.resume(there, call.cursor());
            bed.node(1).backend.life().call(1).respond();
            bed.settle();

            assertThat(outcomes(here))
                    .singleElement()
                    .asString()
                    .startsWith("outcome=answered ")
                    .endsWith("rerun=true");
        }
    }

    @Test
    void whatOthersHaveChosenIsQuotedAndCut() {
        String hostile = "a\nsession 12345678: ended \u001b[31m\"\\\u202e\ud800 \u2028" + "x".repeat(100);
        try (TestBed bed = new TestBed()) {
            Session session = open(bed, hostile);

            assertThat(told(session))
                    .singleElement()
                    .asString()
                    .contains(
                            "principal=\"a\\u{a}session 12345678: ended \\u{1b}[31m\\\"\\\\\\u{202e}\\u{d800} \\u{2028}"
                                    + "x".repeat(27) + "...\" protocol");
        }
    }

    @Test
    void aFloodOfSessionsWritesABoundedNumberOfLines() {
        int most = 1_000;
        try (TestBed bed = new TestBed()) {
            for (int i = 0; i < most + 500; i++) {
                open(bed).terminate();
            }
            assertThat(log.list).hasSize(2 * most);
            bed.pass(Duration.ofSeconds(10));
            Session last = open(bed);
            assertThat(told(last)).singleElement().asString().endsWith(", and before that another 500 of this kind");
        }
    }

    @Test
    void switchedOffItWritesNothing() {
        logger.setLevel(Level.OFF);
        try (TestBed bed = TestBed.durable()) {
            Session session = open(bed);
            bed.post(session, 1);
            session.terminate();
            assertThat(log.list).isEmpty();
        }
    }

    @Test
    void aSessionWithoutAGracePeriodIsToldLost() {
        try (TestBed bed = new TestBed()) {
            Lifetime brief = TestBed.LIFETIME.withGrace(Duration.ZERO);
            Session session = bed.open(brief);
            TestBed.listen(session).broken();
            assertThat(told(session)).hasSize(2).last().asString().startsWith("ended reason=disconnected code=1003 ");
        }
    }
}
