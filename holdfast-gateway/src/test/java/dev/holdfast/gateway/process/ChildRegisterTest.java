package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.Wait;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

@Tag("jdk")
@Timeout(60)
class ChildRegisterTest {
    private static final Logger LOGGER = (Logger) LoggerFactory.getLogger(ChildRegister.class);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final Processes processes = Processes.ofThisMachine();
    private final List<Process> started = new ArrayList<>();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @AfterEach
    void end() {
        LOGGER.detachAppender(log);
        started.forEach(Process::destroyForcibly);
    }

    /** A process that leads a group of its own by now. */
    private Process sleeper() throws IOException {
        Process process = processes.start(new ServerCommand(List.of("sleep", "60")));
        started.add(process);
        Wait.until(
                "it leads a group",
                () -> ProcessTable.entry(process.pid())
                        .filter(ProcessTable.Entry::leads)
                        .isPresent());
        return process;
    }

    private List<Long> survivors() {
        return new ChildRegister(folder, processes)
                .survivors().stream().map(Process::pid).toList();
    }

    private void append(String text) throws IOException {
        Files.writeString(folder.resolve(ChildRegister.FILE), text, StandardOpenOption.APPEND);
    }

    private static long start(Process process) {
        return ProcessTable.entry(process.pid()).orElseThrow().start();
    }

    @Test
    void whatWasStartedAndNotEndedIsLeft() throws IOException {
        ChildRegister register = new ChildRegister(folder, processes);
        Process left = sleeper();
        Process gone = sleeper();
        register.started(left);
        register.started(gone);
        register.gone(gone);

        assertThat(survivors()).containsExactly(left.pid());
        assertThat(survivors()).as("as long as it runs").containsExactly(left.pid());
    }

    @Test
    void whatHasEndedIsNotLeft() throws IOException, InterruptedException {
        Process process = sleeper();
        new ChildRegister(folder, processes).started(process);

        process.destroyForcibly().waitFor();

        assertThat(survivors()).isEmpty();
    }

    @Test
    void aProcessWithAnotherStartIsSomebodyElses() throws IOException {
        new ChildRegister(folder, processes);
        Process process = sleeper();

        append("+" + process.pid() + " " + (start(process) - 1) + "\n");

        assertThat(survivors()).isEmpty();
    }

    /** The file as another process writes it, which is the gateway of the children in it. */
    private ChildRegister writtenBy(Process gateway, Path where) {
        return new ChildRegister(where, processes, ProcessTable.machine(), ProcessTable.entry(gateway.pid()));
    }

    private Path copy() throws IOException {
        Path copy = Files.createDirectory(folder.resolve("copy"));
        Files.copy(folder.resolve(ChildRegister.FILE), copy.resolve(ChildRegister.FILE));
        return copy;
    }

    @Test
    void whatAGatewayThatStillRunsHasStartedIsLeftAlone() throws IOException, InterruptedException {
        Process gateway = sleeper();
        Process child = sleeper();
        Process other = sleeper();
        ChildRegister register = writtenBy(gateway, folder);
        register.started(child);
        register.started(other);
        Path copy = copy();
        log.start();
        LOGGER.addAppender(log);

        assertThat(new ChildRegister(copy, processes).survivors()).isEmpty();
        assertThat(log.list)
                .singleElement()
                .satisfies(event -> assertThat(event.getFormattedMessage())
                        .contains("process " + gateway.pid() + ", still runs")
                        .contains("its server processes (2) are left alone"));
        assertThat(new ChildRegister(copy, processes).survivors())
                .as("they are forgotten")
                .isEmpty();
        assertThat(log.list).as("told once").hasSize(1);

        gateway.destroyForcibly().waitFor();
        assertThat(survivors()).as("in its own folder").containsExactly(child.pid(), other.pid());
    }

    @Test
    void aGatewayThatRunsAndHasNoChildrenIsNotTold() throws IOException {
        writtenBy(sleeper(), folder);
        log.start();
        LOGGER.addAppender(log);

        assertThat(survivors()).isEmpty();
        assertThat(log.list).isEmpty();
    }

    @Test
    void aProcessThatHasOnlyTheNumberOfTheGatewayIsNotTheGateway() throws IOException {
        Process newer = sleeper();
        Process child = sleeper();
        ProcessTable.Entry gateway = new ProcessTable.Entry(newer.pid(), newer.pid(), start(newer) - 1);
        new ChildRegister(folder, processes, ProcessTable.machine(), Optional.of(gateway)).started(child);

        assertThat(survivors()).containsExactly(child.pid());
    }

    @Test
    void aFileThatDoesNotNameItsGatewayTellsOfChildrenThatAreLeft() throws IOException {
        Process child = sleeper();
        String machine = ProcessTable.machine().orElseThrow();
        Files.writeString(
                folder.resolve(ChildRegister.FILE), machine + "\n+" + child.pid() + " " + start(child) + "\n");

        assertThat(survivors()).containsExactly(child.pid());
    }

    @Test
    void theFileOfADeadGatewayThatCouldNotBeReplacedIsReplacedLater() throws IOException, InterruptedException {
        Process gateway = sleeper();
        writtenBy(gateway, folder);
        gateway.destroyForcibly().waitFor();
        Path fresh = Files.createDirectory(folder.resolve(ChildRegister.FILE + ".new"));
        ChildRegister register = new ChildRegister(folder, processes);
        Files.delete(fresh);
        Process child = sleeper();

        register.started(child);

        assertThat(survivors()).containsExactly(child.pid());
    }

    /** As somebody else may have put there who can write in the folder. */
    @ParameterizedTest
    @ValueSource(strings = {"CHILDREN", "CHILDREN.new"})
    void aLinkInThePlaceOfAFileIsNotFollowed(String name) throws IOException {
        Path precious = Files.writeString(
                Files.createDirectory(folder.resolve("elsewhere")).resolve("a"), "precious");
        ChildRegister register = new ChildRegister(folder, processes);
        Files.deleteIfExists(folder.resolve(name));
        Files.createSymbolicLink(folder.resolve(name), precious);

        register.started(sleeper());
        new ChildRegister(folder, processes);

        assertThat(precious).hasContent("precious");
    }

    @Test
    void theFileOfALaterGatewayIsNotWrittenByAnEarlierOne() throws IOException {
        ChildRegister register = writtenBy(sleeper(), folder);
        Process first = sleeper();
        Process second = sleeper();
        Files.delete(folder.resolve(ChildRegister.FILE));
        new ChildRegister(folder, processes);
        List<String> theirs = Files.readAllLines(folder.resolve(ChildRegister.FILE));

        register.started(first);
        register.started(second);
        register.gone(first);

        assertThat(Files.readAllLines(folder.resolve(ChildRegister.FILE))).isEqualTo(theirs);
    }

    @Test
    void aProcessInTheGroupOfAnotherIsSomebodyElses() throws IOException {
        new ChildRegister(folder, processes);
        Process process = new ProcessBuilder("sleep", "60").start();
        started.add(process);

        append("+" + process.pid() + " " + start(process) + "\n");

        assertThat(survivors()).isEmpty();
    }

    @Test
    void theGroupOfThisProcessIsLeftAlone() throws IOException {
        Process process = sleeper();
        // as if the process had started us without a group of our own
        ProcessTable.Entry self = new ProcessTable.Entry(process.pid() + 1, process.pid(), start(process));
        new ChildRegister(folder, processes, ProcessTable.machine(), Optional.of(self)).started(process);
        log.start();
        LOGGER.addAppender(log);

        ChildRegister register = new ChildRegister(folder, processes, ProcessTable.machine(), Optional.of(self));

        assertThat(register.survivors()).isEmpty();
        assertThat(log.list)
                .singleElement()
                .satisfies(event -> assertThat(event.getFormattedMessage()).contains("process " + process.pid()));
        assertThat(survivors()).as("it is forgotten").isEmpty();
    }

    @Test
    void thisProcessKnowsItsOwnGroup() {
        assertThat(ProcessTable.self())
                .isEqualTo(ProcessTable.entry(ProcessHandle.current().pid()));
    }

    @Test
    void whereTheMachineHasNoNameNothingIsWritten() throws IOException {
        log.start();
        LOGGER.addAppender(log);
        Process process = sleeper();
        ChildRegister register = new ChildRegister(folder, processes, Optional.empty(), ProcessTable.self());

        register.started(process);
        register.gone(process);

        assertThat(folder).isEmptyDirectory();
        assertThat(log.list).isEmpty();
    }

    @Test
    void theEndOfAnOlderChildWithTheSameNumberIsNotThatOfTheNewer() throws IOException {
        ChildRegister register = new ChildRegister(folder, processes);
        Process newer = sleeper();
        ProcessTable.Entry entry = new ProcessTable.Entry(newer.pid(), newer.pid(), start(newer) - 1);
        Process older = new ChildRegister.Survivor(entry);
        register.started(older, entry);
        register.started(newer);

        register.gone(older);

        assertThat(survivors()).containsExactly(newer.pid());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "another-boot pid:[1]\n", "\n", "+1 2\n"})
    void aFileOfAnotherMachineOrBootSaysNothing(String head) throws IOException {
        Process process = sleeper();

        Files.writeString(folder.resolve(ChildRegister.FILE), head + "+" + process.pid() + " " + start(process) + "\n");

        assertThat(survivors()).isEmpty();
    }

    @Test
    void halfALineCountsForNothingAndHarmsNoOther() throws IOException {
        ChildRegister register = new ChildRegister(folder, processes);
        Process first = sleeper();
        Process second = sleeper();
        register.started(first);
        append("nonsense\n+x 7\n+12345678901234567890 1\n+1 9999999999999999999\n");
        append("+" + second.pid() + " " + start(second));

        ChildRegister next = new ChildRegister(folder, processes);

        assertThat(next.survivors()).extracting(Process::pid).containsExactly(first.pid());
        next.started(second);
        assertThat(survivors()).containsExactly(first.pid(), second.pid());
    }

    @Test
    void theFileDoesNotGrowWithWhatIsPast() throws IOException {
        ChildRegister register = new ChildRegister(folder, processes);
        Process process = sleeper();

        for (int i = 0; i < 3_000; i++) {
            register.started(process);
            register.gone(process);
        }
        register.started(process);

        assertThat(Files.readAllLines(folder.resolve(ChildRegister.FILE))).hasSizeLessThan(1_010);
        assertThat(survivors()).containsExactly(process.pid());
    }

    @Test
    void whereItCannotBeWrittenTheNextChangeWritesItWhole() throws IOException {
        ChildRegister register = new ChildRegister(folder, processes);
        Process first = sleeper();
        Process second = sleeper();
        Files.delete(folder.resolve(ChildRegister.FILE));
        register.started(first);
        assertThat(folder.resolve(ChildRegister.FILE)).doesNotExist();

        register.started(second);

        assertThat(survivors()).containsExactly(first.pid(), second.pid());
    }
}
