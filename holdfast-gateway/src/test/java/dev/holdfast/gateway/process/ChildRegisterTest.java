package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class ChildRegisterTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final Processes processes = Processes.ofThisMachine();
    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void end() {
        started.forEach(Process::destroyForcibly);
    }

    /** A process that leads a group of its own by now. */
    private Process sleeper() throws IOException {
        Process process = processes.start(List.of("sleep", "60"));
        started.add(process);
        while (ProcessTable.entry(process.pid())
                .filter(ProcessTable.Entry::leads)
                .isEmpty()) {
            Thread.onSpinWait();
        }
        return process;
    }

    private List<Long> survivors() {
        return ChildRegister.open(folder).survivors().stream().map(Process::pid).toList();
    }

    private void append(String text) throws IOException {
        Files.writeString(folder.resolve(ChildRegister.FILE), text, StandardOpenOption.APPEND);
    }

    private static long start(Process process) {
        return ProcessTable.entry(process.pid()).orElseThrow().start();
    }

    @Test
    void whatWasStartedAndNotEndedIsLeft() throws IOException {
        ChildRegister register = ChildRegister.open(folder);
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
        ChildRegister.open(folder).started(process);

        process.destroyForcibly().waitFor();

        assertThat(survivors()).isEmpty();
    }

    @Test
    void aProcessWithAnotherStartIsSomebodyElses() throws IOException {
        ChildRegister.open(folder);
        Process process = sleeper();

        append("+" + process.pid() + " " + (start(process) - 1) + "\n");

        assertThat(survivors()).isEmpty();
    }

    @Test
    void aProcessInTheGroupOfAnotherIsSomebodyElses() throws IOException {
        ChildRegister.open(folder);
        Process process = new ProcessBuilder("sleep", "60").start();
        started.add(process);

        append("+" + process.pid() + " " + start(process) + "\n");

        assertThat(survivors()).isEmpty();
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
        ChildRegister register = ChildRegister.open(folder);
        Process first = sleeper();
        Process second = sleeper();
        register.started(first);
        append("nonsense\n+x 7\n+12345678901234567890 1\n");
        append("+" + second.pid() + " " + start(second));

        ChildRegister next = ChildRegister.open(folder);

        assertThat(next.survivors()).extracting(Process::pid).containsExactly(first.pid());
        next.started(second);
        assertThat(survivors()).containsExactly(first.pid(), second.pid());
    }

    @Test
    void theFileDoesNotGrowWithWhatIsPast() throws IOException {
        ChildRegister register = ChildRegister.open(folder);
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
        ChildRegister register = ChildRegister.open(folder);
        Process first = sleeper();
        Process second = sleeper();
        Files.delete(folder.resolve(ChildRegister.FILE));
        register.started(first);
        assertThat(folder.resolve(ChildRegister.FILE)).doesNotExist();

        register.started(second);

        assertThat(survivors()).containsExactly(first.pid(), second.pid());
    }
}
