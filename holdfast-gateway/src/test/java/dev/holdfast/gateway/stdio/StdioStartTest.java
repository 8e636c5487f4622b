package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.process.CountedProcesses;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.spi.Backend.Opened;
import dev.holdfast.spi.Backend.Outcome;
import dev.holdfast.spi.Backend.Unreachable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Tag("jdk")
@Timeout(60)
class StdioStartTest {
    private static final StdioOptions IMPATIENT = StdioBed.HASTY.withStartTimeout(Duration.ofSeconds(8));

    @Test
    void theChildsAnswerAndItsRevisionComeBack() {
        try (StdioBed bed = StdioBed.running(StdioBed.READS)) {
            Opened opened = (Opened) Wait.until(bed.open());

            assertThat(TestJson.text(opened.response())).isEqualTo(TestJson.INITIALIZED_RESULT);
            assertThat(opened.revision()).isEqualTo("2025-11-25");
        }
    }

    @Test
    void aCommandThatIsNotThereIsNamed() {
        try (StdioBed bed = new StdioBed(new ServerCommand(List.of("no-such-server", "arg")), StdioBed.HASTY)) {
            assertThat(bed.refusal())
                    .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"error\":{\"code\":-32000,"
                            + "\"message\":\"the server's command was not found: no-such-server\"}}");
        }
    }

    @Test
    void aCommandThatIsNotExecutableAnyMoreIsToldSo(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("server"));
        try (StdioBed bed = new StdioBed(new ServerCommand(List.of(file.toString())), StdioBed.HASTY)) {
            assertThat(bed.refusal()).contains("\"message\":\"the server's command is not executable: " + file);
        }
    }

    @Test
    void aChildThatExitsAtOnceIsReportedWithItsLastErrorLines() {
        ServerCommand command =
                StdioBed.script("for i in 1 2 3 4 5 6; do echo \"line $i\" >&2; done; echo 'no token set' >&2; exit 3");
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY)) {
            assertThat(bed.refusal())
                    .contains("the server process exited with code 3")
                    .contains("line 3\\nline 4\\nline 5\\nline 6\\nno token set")
                    .doesNotContain("line 2");
        }
    }

    @Test
    void whatAChildSaysOnItsErrorOutputIsNotToldToClientsWhereOthersCanReachIt() {
        ServerCommand command = StdioBed.script("echo 'no token set' >&2; exit 3");
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY.withoutErrors())) {
            assertThat(bed.refusal())
                    .contains("the server process exited with code 3")
                    .doesNotContain("token");
        }
    }

    @Test
    void theLogNamesAChildWithItsSessionAsSoonAsThatHasAnId() {
        StringBuilder session = new StringBuilder();
        Child.Name name = new Child.Name("child x.1", session::toString);
        assertThat(name).hasToString("child x.1");

        session.append("0123456789");

        assertThat(name).hasToString("child x.1 (session 01234567)");
    }

    @Test
    void theLogNamesTheSessionWhoseChildCouldNotBeStarted() {
        Logger logger = (Logger) LoggerFactory.getLogger(StdioBackend.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        Processes none = new CountedProcesses(Processes.ofThisMachine()) {
            @Override
            public Process start(ServerCommand command) throws IOException {
                throw new IOException("thrown by a test");
            }
        };
        try (StdioBed bed = new StdioBed(StdioBed.script("exit"), StdioBed.HASTY, none)) {
            assertThat(bed.refusal()).contains("the server process could not be started");
        }
        logger.detachAppender(log);
        assertThat(log.list.get(0).getFormattedMessage())
                .isEqualTo("child s.1 (session session): /bin/sh could not be started");
    }

    @Test
    void aChildThatStaysMuteIsReportedAtTheStartTimeout() {
        ServerCommand command = StdioBed.script("echo 'waiting for a database' >&2; " + StdioBed.READS);
        try (StdioBed bed = new StdioBed(command, IMPATIENT)) {
            assertThat(bed.refusal())
                    .contains("the server process did not answer initialize within 8s")
                    .contains("waiting for a database");
            assertThat(bed.backend.size()).isZero();
        }
    }

    @Test
    void aRefusalOfTheChildIsPassedOn() {
        String error = TestJson.of("{'jsonrpc':'2.0','id':'init','error':{'code':-32602,'message':'too old'}}");
        try (StdioBed bed = new StdioBed(StdioBed.script("echo '" + error + "'; " + StdioBed.READS), StdioBed.HASTY)) {
            assertThat(bed.refusal()).isEqualTo(error);
            assertThat(bed.backend.size()).isZero();
        }
    }

    @Test
    void anAnswerWithoutARevisionIsNoAnswer() {
        String answer = TestJson.of("{'jsonrpc':'2.0','id':'init','result':{}}");
        try (StdioBed bed = new StdioBed(StdioBed.script("echo '" + answer + "'; " + StdioBed.READS), StdioBed.HASTY)) {
            assertThat(bed.refusal()).contains("answered initialize without a protocolVersion");
        }
    }

    @Test
    void whatTheChildSaysBeforeItsAnswerGoesToTheListeningStream() {
        String log = TestJson.notification("notifications/message");
        ServerCommand command = StdioBed.script(
                "echo hello; echo '" + log + "'; echo '" + TestJson.INITIALIZED_RESULT + "'; " + StdioBed.READS);
        try (StdioBed bed = new StdioBed(command, StdioBed.HASTY)) {
            bed.opened();

            assertThat(bed.listening.next()).isEqualTo(log);
        }
    }

    @Test
    void aChildThatNobodyWaitsForAnyMoreIsEndedBeforeItAnswers() {
        try (StdioBed bed = new StdioBed(StdioBed.script(StdioBed.READS), StdioBed.HASTY)) {
            CompletionStage<Outcome> opening = bed.open();
            Wait.until("the child runs", () -> bed.backend.size() == 1);

            bed.listening.abandon();

            assertThat(TestJson.text(((Unreachable) Wait.until(opening)).response()))
                    .contains("the client has left");
            assertThat(bed.backend.size()).isZero();
        }
    }

    @Test
    void aBackendThatClosesRefusesWhatIsBeingOpened() {
        StdioBed bed = new StdioBed(StdioBed.script(StdioBed.READS), StdioBed.HASTY);
        CompletionStage<Outcome> opening = bed.open();
        Wait.until("the child runs", () -> bed.backend.size() == 1);

        bed.close();

        assertThat(TestJson.text(((Unreachable) Wait.until(opening)).response()))
                .contains("the gateway is shutting down");
        assertThat(bed.backend.size()).isZero();
    }
}
