package dev.holdfast.rocksdb;

import static dev.holdfast.rocksdb.EngineFixture.RETURNED;
import static dev.holdfast.rocksdb.EngineFixture.SERVER;
import static dev.holdfast.rocksdb.EngineFixture.SESSION;
import static dev.holdfast.rocksdb.EngineFixture.SOMEBODY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.rocksdb.HoldingBackend.Held;
import dev.holdfast.rocksdb.HoldingBackend.Life;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory.Introduction;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Sessions that an engine has kept in a store come back for ever after, with what the engine keeps of its own in their records
 * and calls. The folder of an engine that was killed is kept as {@code engine-1.zip}; what a later version keeps besides gets a
 * file of its own beside it, written by {@link #main}.
 */
@Timeout(60)
class EngineFixtureTest {
    private static final String INTERRUPTED =
            " -32603: the server ended while this call was running; whether it had any effect is not known";
    private static final String WITHDRAWN = ": the server that asked has ended";
    private static final Duration MOMENT = Duration.ofMillis(1);

    @TempDir
    Path temporary;

    private EngineFixture fixture;
    private EngineBed process;
    private int folders;

    @BeforeEach
    void open() throws Exception {
        fixture = EngineFixture.unzip(temporary.resolve("first"));
        process = fixture.open(EngineFixture.MACHINE, EngineFixture.BEGIN, SERVER);
    }

    @AfterEach
    void close() {
        process.close();
    }

    private Path folder() {
        return temporary.resolve("folder-" + ++folders);
    }

    /** Another process instead of the one that is there, over another copy of the fixture. */
    private void openInstead(String machine, Instant start, Introduction server) throws Exception {
        process.close();
        fixture = EngineFixture.unzip(folder());
        process = fixture.open(machine, start, server);
    }

    private Session session() throws Exception {
        return process.found(SESSION, "");
    }

    private Session sse() throws Exception {
        return process.found(fixture.id(EngineFixture.SSE), SOMEBODY);
    }

    private Session uninitialized() throws Exception {
        return process.found(fixture.id(EngineFixture.UNINITIALIZED), "");
    }

    /** The client comes back where it was, and nothing is missing. */
    private Line resumed(Session session, String stream) {
        return Line.resumed(session.resume(fixture.cursor(stream)));
    }

    private Line gap(Session session, String stream) {
        return Line.gap(session.resume(fixture.cursor(stream)));
    }

    /** The backend of the session that was found says something, and what was to be said before it has been. */
    private Life settled() throws Exception {
        Life backend = process.backend.next();
        backend.send(Words.notice("fresh"));
        return backend;
    }

    @Test
    void aFreshBackendHearsTheJournalInItsOrderAndThenWhatIsRunAgain() throws Exception {
        Session session = session();
        Life backend = process.backend.next();
        backend.nextCall();
        assertThat(Words.text(backend.request.initialize().bytes())).isEqualTo("request 0 initialize");
        assertThat(backend.request.principal()).isEmpty();
        assertThat(backend.heard)
                .containsExactly(
                        "notification notifications/initialized",
                        "request 7 logging/setLevel",
                        "request 2 resources/subscribe",
                        "request 4 resources/read");
        assertThat(session.revision()).isEqualTo(HoldingBackend.REVISION);
        assertThat(session.listensOnly()).isFalse();
    }

    @Test
    void anAnswerThatWasNotDeliveredIs() throws Exception {
        Line completed = resumed(session(), EngineFixture.COMPLETED);
        assertThat(completed.read()).containsExactly("result 3");
        assertThat(completed.ended()).isTrue();
        assertThat(session().resume(completed.cursor())).isCompletedWithValue(new Resume.Ended());
        assertThat(process.news).isEmpty();
    }

    @Test
    void aListenerGoesOnAfterWhatItHasAndItsOpenQuestionIsWithdrawn() throws Exception {
        Session session = session();
        Life backend = process.backend.next();
        backend.nextCall();
        backend.send(Words.notice("fresh"));
        assertThat(resumed(session, EngineFixture.LISTENING).read())
                .containsExactly("four", "question roots", "cancelled roots" + WITHDRAWN, "fresh");
        assertThat(process.news).isEmpty();
    }

    @Test
    void aListenerWithoutCursorBeginsAfterWhatItHadSurelyRead() throws Exception {
        Session session = session();
        settled();
        assertThat(Line.resumed(session.listen()).read())
                .containsExactly("three", "four", "question roots", "cancelled roots" + WITHDRAWN, "fresh");
    }

    @Test
    void aClientThatHasListenedIsExpectedToDoSo() throws Exception {
        session();
        assertThat(process.backend.next().sink.followed()).isTrue();
        sse();
        assertThat(process.backend.next().sink.followed()).isTrue();
        process.found(RETURNED, "");
        assertThat(process.backend.next().sink.followed()).isFalse();
    }

    @Test
    void aCallThatMayBeRunAgainIsAndGoesOnWhereItsClientWas() throws Exception {
        Session session = session();
        Held again = process.backend.next().nextCall();
        assertThat(Words.text(again.request().bytes())).isEqualTo("request 4 resources/read");
        for (int number = 1; number <= 3; number++) {
            again.send(Words.progress(number));
        }
        again.respond();
        Line line = resumed(session, EngineFixture.HARMLESS);
        assertThat(line.read()).containsExactly("progress 3", "result 4");
        assertThat(line.ended()).isTrue();
    }

    @Test
    void howOftenItWasRunIsKept() throws Exception {
        for (int run = 2; run <= 3; run++) {
            session();
            process.backend.next().nextCall();
            process = process.die(folder());
        }
        Session session = session();
        settled();
        assertThat(resumed(session, EngineFixture.HARMLESS).read()).containsExactly("error 4" + INTERRUPTED);
    }

    @Test
    void aCallThatMustNotBeRunAgainHasAnErrorForEachRequestWithoutAnswer() throws Exception {
        Session session = session();
        settled();
        Line batch = resumed(session, EngineFixture.BATCH);
        assertThat(batch.read()).containsExactly("result 6", "error 5" + INTERRUPTED);
        assertThat(batch.ended()).isTrue();
    }

    @Test
    void whatEarlierLivesAskedIsWithdrawnOnce() throws Exception {
        Session session = process.found(RETURNED, "");
        settled();
        assertThat(gap(session, EngineFixture.OF_THE_FIRST_LIFE).read())
                .containsExactly("cancelled of-the-first-life" + WITHDRAWN, "error 1" + INTERRUPTED);
        assertThat(resumed(session, EngineFixture.OF_THE_SECOND_LIFE).read())
                .containsExactly("cancelled of-the-second-life" + WITHDRAWN, "error 2" + INTERRUPTED);
        assertThat(Line.resumed(session.listen()).read())
                .containsExactly("question general", "cancelled general" + WITHDRAWN, "fresh");
    }

    @Test
    void afterAnEndOfTheMachineEveryCursorIsAPossibleGap() throws Exception {
        openInstead("a third machine", EngineFixture.BEGIN, SERVER);
        Session session = session();
        settled();
        assertThat(gap(session, EngineFixture.COMPLETED).read()).containsExactly("result 3");
        assertThat(gap(session, EngineFixture.LISTENING).read())
                .containsExactly("four", "question roots", "cancelled roots" + WITHDRAWN, "fresh");
    }

    @Test
    void whoWasNotThereWhenTheMachineEndedLearnsOfItToo() throws Exception {
        Session session = process.found(EngineFixture.UNTOUCHED, "");
        settled();
        assertThat(gap(session, EngineFixture.UNTOUCHED).read()).containsExactly("fresh");
    }

    @Test
    void overHttpSseEverythingComesByTheListeningStream() throws Exception {
        assertThat(process.find(fixture.id(EngineFixture.SSE), "")).isInstanceOf(Missing.class);
        Session session = sse();
        assertThat(session.listensOnly()).isTrue();
        assertThat(session.revision()).isEqualTo(HoldingBackend.REVISION);
        Life backend = process.backend.next();
        backend.nextCall().respond();
        assertThat(backend.request.principal()).isEqualTo(SOMEBODY);
        assertThat(backend.heard).containsExactly("notification notifications/initialized", "request 3 resources/read");
        assertThat(resumed(session, EngineFixture.SSE_LISTENING).read())
                .containsExactly("result 1", "error 2" + INTERRUPTED, "result 3");
        assertThat(process.news).isEmpty();
    }

    @Test
    void aClientThatHasNotInitializedItsSessionYetMayDoSo() throws Exception {
        Session session = uninitialized();
        assertThat(session.listensOnly()).isTrue();
        assertThat(session.revision()).isEmpty();
        Line listening = Line.resumed(session.listen());
        EngineBed.post(session, EngineFixture.initialize()).dispatch();
        settled();
        assertThat(listening.read())
                .containsExactly(
                        Words.text(Words.introduction(Words.id(0), SERVER).bytes()), "fresh");
    }

    @Test
    void aBackendThatIsAnotherServerIsToldByTheListsThatWerePromised() throws Exception {
        openInstead(EngineFixture.MACHINE, EngineFixture.BEGIN, new Introduction(SERVER.server() + 1, (byte) 2));
        Session session = session();
        process.backend.next().nextCall().respond();
        assertThat(resumed(session, EngineFixture.LISTENING).read())
                .containsExactly("four", "question roots", "cancelled roots" + WITHDRAWN, "lists 5 changed");
        assertThat(process.news).containsExactly("backend changed");
    }

    @Test
    void aSessionWaitsForTheGracePeriodAndWithoutBrokenConnectionForTheIdleTimeout() throws Exception {
        Session session = process.found(RETURNED, "");
        settled();
        process.pass(EngineFixture.GRACE.minus(MOMENT));
        assertThat(process.find(RETURNED, "")).isInstanceOf(Found.class);
        Sample.await(session.notify(Words.notification("notifications/some", JournalChange.NONE)));
        process.pass(EngineFixture.IDLE.minus(MOMENT));
        assertThat(process.find(RETURNED, "")).isInstanceOf(Found.class);
        process.pass(EngineFixture.IDLE);
        assertThat(process.find(RETURNED, "")).isInstanceOf(Missing.class);
    }

    @Test
    void aSessionIsGoneAfterTheGracePeriod() throws Exception {
        process.found(RETURNED, "");
        settled();
        process.pass(EngineFixture.GRACE);
        assertThat(process.find(RETURNED, "")).isInstanceOf(Missing.class);
    }

    @Test
    void anAnswerIsKeptForTheRetentionAfterItWasDelivered() throws Exception {
        Session session = session();
        Line completed = resumed(session, EngineFixture.COMPLETED);
        completed.read();
        completed.close();
        process.pass(EngineFixture.RETENTION.minus(MOMENT));
        completed = resumed(session, EngineFixture.COMPLETED);
        assertThat(completed.read()).containsExactly("result 3");
        completed.close();
        process.pass(EngineFixture.RETENTION);
        assertThat(session.resume(fixture.cursor(EngineFixture.COMPLETED)))
                .isCompletedWithValueMatching(Resume.Gap.class::isInstance);
    }

    @Test
    void aSessionWaitsForItsInitialize() throws Exception {
        uninitialized();
        process.pass(EngineFixture.INITIALIZATION.minus(MOMENT));
        uninitialized();
        process.pass(MOMENT);
        assertThat(process.find(fixture.id(EngineFixture.UNINITIALIZED), "")).isInstanceOf(Missing.class);
    }

    @Test
    void aCallThatIsRunAgainHasTheTimeOfACall() throws Exception {
        Session session = session();
        Life backend = process.backend.next();
        backend.nextCall();
        Line line = resumed(session, EngineFixture.HARMLESS);
        process.pass(EngineFixture.CALL.minus(MOMENT));
        backend.send(Words.notice("in time"));
        assertThat(line.read()).isEmpty();
        process.pass(MOMENT);
        backend.send(Words.notice("late"));
        assertThat(line.read()).containsExactly("error 4 -32603: the call took longer than 23 min 0.113 s");
    }

    @Test
    void theStoreForgetsASessionWhenItsRecordSays() throws Exception {
        openInstead(EngineFixture.MACHINE, EngineFixture.EXPIRY.minus(MOMENT), SERVER);
        assertThat(process.find(SESSION, "")).isInstanceOf(Found.class);
        openInstead(EngineFixture.MACHINE, EngineFixture.EXPIRY, SERVER);
        assertThat(process.find(SESSION, "")).isInstanceOf(Missing.class);
    }

    /** Writes the fixture of the present version. */
    public static void main(String[] args) throws Exception {
        EngineFixture.write(Path.of(args[0]));
    }
}
