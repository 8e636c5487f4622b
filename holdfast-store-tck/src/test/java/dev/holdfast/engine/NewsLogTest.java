package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.Lifetime;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What clients can cause at will is one line each while it is a handful, and a bounded number of lines when it is a flood. */
class NewsLogTest {
    private static final int FLOOD = 500;
    private static final Lifetime BRIEF_CALLS = TestBed.LIFETIME.withCall(Duration.ofSeconds(1));

    private final Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final TestBed bed = new TestBed(new SessionLimits(1 << 20, 16, 1 << 20, 1000, 256, 64));

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
        logger.setLevel(Level.INFO);
    }

    @AfterEach
    void close() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
        bed.close();
    }

    private List<String> lines(String about) {
        return log.list.stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.contains(about))
                .toList();
    }

    @Test
    void whatTheStorePromisesIsToldAtTheStart() {
        try (TestBed other = TestBed.durable()) {
            assertThat(other.engine.size()).isZero();
        }
        try (TestBed other = new TestBed()) {
            assertThat(other.engine.size()).isZero();
        }
        assertThat(lines("store: "))
                .containsExactly(
                        "store: sessions survive the end of this process", "store: sessions end with this process");
    }

    /** A handful is told in full, a flood is not; then the next line says how much was left out. */
    private void assertBounded(String about, Runnable fact) {
        repeat(5, fact);
        assertThat(lines(about)).hasSize(5).doesNotHaveDuplicates();
        repeat(FLOOD, fact);
        assertThat(lines(about)).hasSizeBetween(5, 20);
        int told = lines(about).size();
        bed.pass(Duration.ofSeconds(10));
        fact.run();
        assertThat(lines(about))
                .hasSize(told + 1)
                .last()
                .asString()
                .endsWith(", and before that another " + (5 + FLOOD - told) + " of this kind");
    }

    private static void repeat(int times, Runnable fact) {
        Stream.generate(() -> fact).limit(times).forEach(Runnable::run);
    }

    @Test
    void whatADrainWaitsForAndWhatItCutsIsTold() {
        Session session = bed.open();
        bed.post(session, 1);
        bed.post(session, 2);
        CompletionStage<Void> drained = bed.engine.drain(Duration.ofSeconds(20));
        bed.backend.life().call(1).respond();
        bed.pass(Duration.ofSeconds(40));
        assertThat(drained.toCompletableFuture()).isCompleted();
        assertThat(lines("draining"))
                .containsExactly(
                        "draining: waits up to 20 s for 2 running calls",
                        "draining: did not wait any longer for 1 running calls");
    }

    @Test
    void ghAw23153_aClientThatOnlyPostsIsToldWhyItsSessionEnded() {
        Session session = bed.open();
        bed.pass(Duration.ofSeconds(30));
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        post.inOrder();
        bed.pass(TestBed.LIFETIME.idle().plusSeconds(1));
        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(lines("session " + session.shortId() + ": ended"))
                .singleElement()
                .asString()
                .matches(
                        ".*: ended reason=expired code=1002 age=120s unused=90s calls=1 .*: no request came within the idle"
                                + " timeout of .*"
                                + " \\(sessionIdleTimeout, --idle-timeout, holdfast.session.idle-timeout\\)");
    }

    @Test
    void soIsOneThatDoesNotComeBack() {
        Session session = bed.open();
        TestBed.listen(session).broken();
        bed.pass(TestBed.LIFETIME.grace().plusSeconds(1));
        assertThat(lines(": ended")).singleElement().asString().contains("--reconnect-grace");
    }

    @Test
    void soIsOneThatNeverUsesItsSession() {
        bed.open();
        bed.pass(Duration.ofMinutes(2));
        assertThat(lines(": ended")).singleElement().asString().contains("initializationTimeout");
    }

    @Test
    void soIsOneWhoseSessionWaitsInTheStore() {
        try (TestBed durable = TestBed.durable()) {
            TestBed.listen(durable.open()).broken();
            durable.pass(TestBed.LIFETIME.grace().plus(Duration.ofHours(2)));
            assertThat(durable.news.heard).endsWith("parked", "closed: EXPIRED");
        }
        assertThat(lines(": ended in the store")).hasSize(1);
    }

    @Test
    void lostConnections() {
        assertBounded("connection lost", () -> TestBed.listen(bed.open()).broken());
    }

    @Test
    void gaps() {
        assertBounded("were dropped or lost before they were read", () -> {
            Session session = bed.open();
            for (int i = 0; i < 17; i++) {
                bed.backend.life().sink.send(Wire.notice("n" + i));
            }
            Connection.gap(session.listen());
        });
    }

    @Test
    void callsThatTookTooLong() {
        for (int i = 0; i < FLOOD; i++) {
            bed.post(bed.open(BRIEF_CALLS), 1);
        }
        bed.pass(Duration.ofSeconds(3));

        assertThat(bed.engine.stats().timedOut()).isEqualTo(FLOOD);
        assertThat(lines("a call ran for too long")).hasSizeBetween(5, 20);
    }

    @Test
    void backendsThatDied() {
        assertBounded("the backend is gone: the process died", () -> {
            bed.open();
            bed.backend.life().sink.lost("the process died");
        });
    }

    @Test
    void refusalsAreOneLineForEachReason() {
        for (int i = 0; i < FLOOD; i++) {
            bed.engine.refused(Refusal.HOST, "a foreign name");
            bed.engine.refused(Refusal.ORIGIN, "");
        }
        assertThat(lines("refused: "))
                .containsExactly(
                        "refused: a foreign name (3102)",
                        "refused: the Origin header names an origin that is not allowed (3103)");
        bed.pass(Duration.ofSeconds(10));
        bed.engine.refused(Refusal.HOST, "another name");
        assertThat(lines("another name"))
                .containsExactly("refused: another name (3102), and before that another 499 of this kind");
    }
}
